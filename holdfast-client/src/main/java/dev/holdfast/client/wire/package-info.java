/** One HTTP exchange: requests with their streams of server-sent events, as bytes. */
@NullMarked
package dev.holdfast.client.wire;

import org.jspecify.annotations.NullMarked;

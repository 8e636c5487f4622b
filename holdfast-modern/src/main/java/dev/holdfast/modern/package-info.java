/** Requests that name no session: the sessions that carry them. */
@NullMarked
package dev.holdfast.modern;

import org.jspecify.annotations.NullMarked;

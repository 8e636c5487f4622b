/** Writes streams: one connection is a cursor over a stream on its way to a socket. */
@NullMarked
package dev.holdfast.servlet.sse;

import org.jspecify.annotations.NullMarked;

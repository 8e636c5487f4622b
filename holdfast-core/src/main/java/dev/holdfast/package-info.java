/**
 * The engine: sessions, streams, cursors and their lifecycle. Every outbound message is appended to a log before it is written
 * to a socket, and every connection is only a cursor over a log. Start at {@link dev.holdfast.SessionEngine}.
 */
@NullMarked
package dev.holdfast;

import org.jspecify.annotations.NullMarked;

/**
 * What the edge says to the engine and hears from it: sessions, calls, readers, their outcomes and their limits. Every outbound
 * message is appended to a log before it is written to a socket, and every connection is only a cursor over a log.
 */
@NullMarked
package dev.holdfast;

import org.jspecify.annotations.NullMarked;

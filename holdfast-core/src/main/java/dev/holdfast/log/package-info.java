/**
 * The streams of a session: their events, how far they are committed, who reads them, what is kept, and the way into the store. It knows no
 * session.
 */
@NullMarked
package dev.holdfast.log;

import org.jspecify.annotations.NullMarked;

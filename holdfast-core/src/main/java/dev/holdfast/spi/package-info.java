/**
 * What others implement: the {@link dev.holdfast.spi.Backend} that answers a session and the
 * {@link dev.holdfast.spi.SessionStore} that keeps its log, with the values they exchange with the engine. Nothing in this
 * package depends on the engine.
 */
@NullMarked
package dev.holdfast.spi;

import org.jspecify.annotations.NullMarked;

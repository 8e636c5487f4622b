/**
 * The contract of a {@link dev.holdfast.spi.SessionStore} as JUnit classes. A store passes them by one test class with a
 * {@code @Nested} subclass of each, which hands over a {@link dev.holdfast.tck.StoreBed}. A store that survives process death
 * passes {@link dev.holdfast.tck.ReopenContract} too, and one that writes a log of its own
 * {@link dev.holdfast.tck.TornTailContract}.
 */
@NullMarked
package dev.holdfast.tck;

import org.jspecify.annotations.NullMarked;

/**
 * The contract of a {@link dev.holdfast.spi.SessionStore} as JUnit classes. The test of a store has a {@code @Nested} subclass of each
 * class that concerns it, which hands over a bed: an open, empty store and the time that it follows. Which classes concern it follows
 * from what it declares.
 *
 * <ul>
 *   <li>Every store, on a {@link dev.holdfast.tck.StoreBed}: {@link dev.holdfast.tck.SessionsContract}, {@link
 *       dev.holdfast.tck.EventsContract}, {@link dev.holdfast.tck.EpochsContract} and {@link
 *       dev.holdfast.tck.ConcurrencyContract}.
 *   <li>A store that survives the death of its process, on a {@link dev.holdfast.tck.DurableBed}: {@link
 *       dev.holdfast.tck.ReopenContract} too; one that writes a log of its own, on a {@link dev.holdfast.tck.TornBed}: {@link
 *       dev.holdfast.tck.TornTailContract}; one that can tell what is damaged, on a {@link dev.holdfast.tck.DamagedBed}: {@link
 *       dev.holdfast.tck.UnreadableContract}.
 *   <li>A store that can lose a part of a session alone, on a {@link dev.holdfast.tck.LossyBed}: {@link dev.holdfast.tck.LossContract}
 *       too.
 *   <li>A store that nodes share, on a {@link dev.holdfast.tck.SharedBed}: {@link dev.holdfast.tck.SharedContract}, {@link
 *       dev.holdfast.tck.BusContract} and {@link dev.holdfast.tck.PrincipalsContract}
 *       too.
 * </ul>
 */
@NullMarked
package dev.holdfast.tck;

import org.jspecify.annotations.NullMarked;

package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.fail;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** One part of the contract of a store that nodes share; what its tests have in common. */
abstract class SharedStoreContract extends StoreContract<SharedBed> {
    static final String NODE = "node-1";
    static final String OTHER_NODE = "node-2";

    SharedStoreContract(Supplier<? extends SharedBed> beds) {
        super(beds);
    }

    @Override
    SharedSessionStore store() {
        return bed().store();
    }

    SharedSessionStore elsewhere() {
        return bed().elsewhere();
    }

    /** Creates the session in the hands of the first node. */
    void begin() {
        await(store().create(KEY, FIRST, record(), NODE));
    }

    SharedSessionStore.Joined join(SharedSessionStore store, int nonce, String node) {
        return await(store.join(KEY, nonce, node)).orElseThrow(() -> new AssertionError("not there"));
    }

    SharedSessionStore.Appended commit(SharedSessionStore store, Epoch epoch, long number, Append append) {
        return await(store.commit(KEY, epoch, number, append));
    }

    static Append all(Event... events) {
        return new Append(Arrays.asList(events), List.of(), List.of());
    }

    static Append changing(RecordChange... changes) {
        return new Append(List.of(), Arrays.asList(changes), List.of());
    }

    /** An event to which the store gives its place. */
    static Event unplaced(Epoch epoch, String text) {
        Event placed = event(StreamId.LISTENING, epoch, Event.UNPLACED);
        return new Event(placed.stream(), epoch, placed.offset(), placed.kind(), null, bytes(text));
    }

    /** Waits until something is so that another thread makes so. */
    static void until(String what, BooleanSupplier isSo) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                fail("not in time: " + what);
            }
            LockSupport.parkNanos(Duration.ofMillis(2).toNanos());
        }
    }
}

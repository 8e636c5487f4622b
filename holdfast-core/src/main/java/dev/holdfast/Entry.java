package dev.holdfast;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Something on its way into a session's log: an event, changes of the record, or both. */
final class Entry {
    final @Nullable Node node;
    final List<RecordChange> changes;
    /** Whose answer the event is. */
    final LiveCall.@Nullable Sink answered;
    /** Whose start this records. */
    final @Nullable LiveCall started;
    /** What to do when the log goes on, if the store does not have this; under the lock. */
    final Runnable again;

    /** Set under the session's lock, and read without it. */
    volatile boolean committed;

    @Nullable CompletableFuture<Void> stage;

    @Nullable Throwable failure;

    Entry(@Nullable Node node, List<RecordChange> changes, LiveCall.@Nullable Sink answered, Runnable again) {
        this(node, changes, answered, null, again);
    }

    private Entry(
            @Nullable Node node,
            List<RecordChange> changes,
            LiveCall.@Nullable Sink answered,
            @Nullable LiveCall started,
            Runnable again) {
        this.node = node;
        this.changes = changes;
        this.answered = answered;
        this.started = started;
        this.again = again;
    }

    /** The start of a call. */
    static Entry start(LiveCall call, RecordChange change, Runnable again) {
        return new Entry(null, List.of(change), null, call, again);
    }

    /** Changes of the record that are lost if they fail. */
    static Entry of(List<RecordChange> changes) {
        return new Entry(null, changes, null, () -> {});
    }

    /** Everything that a batch does, in order. */
    static Append append(List<Entry> batch, List<Append.Trim> trims) {
        if (batch.size() == 1) {
            Entry only = batch.get(0);
            return new Append(only.node == null ? List.of() : List.of(only.node.event), only.changes, trims);
        }
        List<Event> events = new ArrayList<>(batch.size());
        List<RecordChange> changes = new ArrayList<>();
        Set<StreamId> begun = new HashSet<>(2);
        for (Entry entry : batch) {
            if (entry.node != null) {
                events.add(entry.node.event);
            }
            if (entry.started != null) {
                begun.add(entry.started.id());
            }
            for (RecordChange change : entry.changes) {
                if (entry.node != null
                        && change instanceof RecordChange.CallEnded ended
                        && begun.remove(ended.stream())) {
                    changes.removeIf(earlier -> starts(earlier, ended.stream()));
                } else {
                    changes.add(change);
                }
            }
        }
        return new Append(events, changes, trims);
    }

    /** A call that begins and is answered within a batch leaves nothing in the record. */
    private static boolean starts(RecordChange change, StreamId call) {
        return change instanceof RecordChange.CallStarted started
                && started.stream().equals(call);
    }

    /**
     * Whether a log holds a batch. An append is whole or not at all, so that one event tells for all; without one, a call
     * that it started and did not end. Changes that leave no trace count as missing: they may be made again.
     */
    static boolean inLog(List<Entry> batch, SessionStore.Claim claim) {
        for (Entry entry : batch) {
            if (entry.node != null) {
                return claim.last(entry.node.stream.id()) >= entry.node.event.offset();
            }
        }
        return batch.stream()
                .flatMap(entry -> entry.changes.stream())
                .anyMatch(change -> change instanceof RecordChange.CallStarted started && started(started, claim));
    }

    /** Whether a call is recorded as this change records it: the same call may have been recorded before. */
    private static boolean started(RecordChange.CallStarted change, SessionStore.Claim claim) {
        RunningCall recorded = claim.record().running().get(change.stream());
        return recorded != null
                && recorded.requests().equals(change.requests())
                && Arrays.equals(recorded.extension(), change.extension());
    }
}

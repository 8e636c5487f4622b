package dev.holdfast.log;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Something on its way into a session's log: an event, changes of the record, or both. A subclass hears what became of it.
 */
public class Pending {
    private final @Nullable KeptEvent event;
    private final List<RecordChange> changes;

    volatile boolean committed;

    @Nullable CompletableFuture<Void> stage;

    /** For those who wait no longer when the store is stuck. */
    @Nullable CompletableFuture<Void> settled;

    @Nullable Throwable failure;

    public Pending(@Nullable KeptEvent event, List<RecordChange> changes) {
        this.event = event;
        this.changes = changes;
    }

    /** Something that comes again where the store does not take it now. */
    public static Pending of(@Nullable KeptEvent event, List<RecordChange> changes, Consumer<Step> again) {
        return new Pending(event, changes) {
            @Override
            public void again(Step step) {
                again.accept(step);
            }
        };
    }

    public @Nullable KeptEvent event() {
        return event;
    }

    /** The bytes of its messages. */
    final long bytes() {
        long bytes = event == null ? 0 : event.event.bytes().length;
        for (RecordChange change : changes) {
            if (change instanceof RecordChange.CallStarted started) {
                bytes += started.extension().length;
            } else if (change instanceof RecordChange.JournalPut put) {
                bytes += put.message().length;
            }
        }
        return bytes;
    }

    /** Why the store does not have it, if it has refused it. */
    public @Nullable Throwable failure() {
        return failure;
    }

    /** Whether a call begins with it that no record knows yet. */
    public boolean begins() {
        return false;
    }

    /** Whether a client waits for it, who may be told to come again. */
    public boolean awaited() {
        return false;
    }

    /** The store has it. */
    public void committed(Step step) {}

    /** The store does not have it. */
    public void refused(Step step) {}

    /** The log goes on after it was refused. */
    public void again(Step step) {}

    /** Completes the stages that somebody waits for. */
    static void complete(List<Pending> entries, Step step) {
        for (Pending pending : entries) {
            if (pending.stage != null) {
                step.complete(pending.stage);
            }
            if (pending.settled != null) {
                step.complete(pending.settled);
            }
        }
    }

    /** Fails the stages that somebody waits for. */
    static void fail(List<Pending> entries, Throwable failure, Step step) {
        for (Pending pending : entries) {
            if (pending.stage != null) {
                step.fail(pending.stage, failure);
            }
        }
        stuck(entries, failure, step);
    }

    /** The store has taken nothing for some seconds: fails the stages of those who wait no longer then. */
    static void stuck(List<Pending> entries, Throwable failure, Step step) {
        for (Pending pending : entries) {
            if (pending.settled != null) {
                step.fail(pending.settled, failure);
            }
        }
    }

    /** Everything that a batch does, in order. */
    static Append append(List<Pending> batch, List<Append.Trim> trims) {
        if (batch.size() == 1) {
            Pending only = batch.get(0);
            return new Append(only.event == null ? List.of() : List.of(only.event.event), only.changes, trims);
        }
        List<Event> events = new ArrayList<>(batch.size());
        List<RecordChange> changes = new ArrayList<>(2);
        List<StreamId> begun = new ArrayList<>(2);
        for (Pending pending : batch) {
            if (pending.event != null) {
                events.add(pending.event.event);
            }
            for (RecordChange change : pending.changes) {
                if (pending.begins() && change instanceof RecordChange.CallStarted started) {
                    begun.add(started.stream());
                }
                if (pending.event != null
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
     * Whether a log holds a batch. An append is whole or not at all, so that one event tells for all; without one, the record does: it is
     * as the batch would leave it, or the changes may be made again.
     */
    static boolean inLog(List<Pending> batch, SessionStore.Claim claim) {
        for (Pending pending : batch) {
            if (pending.event != null) {
                return claim.last(pending.event.stream.id()) >= pending.event.event.offset();
            }
        }
        // of one subject the last change stands
        Map<Object, RecordChange> left = new HashMap<>();
        batch.forEach(pending -> pending.changes.forEach(change -> left.put(subject(change), change)));
        return !left.isEmpty() && left.values().stream().allMatch(change -> stands(change, claim.record()));
    }

    private static Object subject(RecordChange change) {
        if (change instanceof RecordChange.CallStarted started) {
            return started.stream();
        } else if (change instanceof RecordChange.CallEnded ended) {
            return ended.stream();
        } else if (change instanceof RecordChange.JournalPut put) {
            return put.key();
        }
        return change instanceof RecordChange.JournalRemoved removed ? removed.key() : change.getClass();
    }

    private static boolean stands(RecordChange change, SessionRecord record) {
        if (change instanceof RecordChange.CallStarted started) {
            // the same call may have been recorded before
            RunningCall recorded = record.running().get(started.stream());
            return recorded != null
                    && recorded.requests().equals(started.requests())
                    && Arrays.equals(recorded.extension(), started.extension());
        } else if (change instanceof RecordChange.CallEnded ended) {
            return !record.running().containsKey(ended.stream());
        } else if (change instanceof RecordChange.JournalPut put) {
            return Arrays.equals(put.message(), record.journal().get(put.key()));
        } else if (change instanceof RecordChange.JournalRemoved removed) {
            return !record.journal().containsKey(removed.key());
        } else if (change instanceof RecordChange.Expires expires) {
            return record.expiresAt() == expires.at();
        } else if (change instanceof RecordChange.Extended extended) {
            return Arrays.equals(record.extension(), extended.extension());
        }
        return change instanceof RecordChange.Negotiated negotiated
                && record.revision().equals(negotiated.revision());
    }
}

package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.LogThrottle;
import dev.holdfast.Refusal;
import dev.holdfast.StreamReader;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delivers to the backend of a session here, in order, what other nodes send it and the notifications that arrive on this node. Answers
 * have a queue of their own: a backend that has asked may take nothing else before it is answered. A message that may open a backend
 * names the epoch that has it; one that the session here does not have was left behind, and is fenced, so that another can take the
 * backend. A forwarded call may come more than once: it runs once, and is answered each time. Safe for use by any thread.
 */
final class BackendInbox {
    private static final Logger logger = LoggerFactory.getLogger(BackendInbox.class);

    private static final int MOST_LINES = 10;
    /** So many answers are kept for calls that come once more. */
    private static final int KEPT_ANSWERS = 2 * ClusterBus.INBOX_MESSAGES;

    private final LogThrottle dropped = new LogThrottle(MOST_LINES, System::nanoTime);
    private final ClusterWriter store;
    private final Executor blocking;
    private final JournalVersions versions;
    private final SessionTasks tasks;
    private final SessionTasks answers;

    /** The answers to the latest forwarded calls, given or still to come. */
    private final Map<Name, CompletableFuture<NodeMessage>> said =
            Collections.synchronizedMap(new LinkedHashMap<>(16, 0.75f, true) {
                @Override
                protected boolean removeEldestEntry(Map.Entry<Name, CompletableFuture<NodeMessage>> eldest) {
                    return size() > KEPT_ANSWERS && eldest.getValue().isDone();
                }
            });

    /** Tells a forwarded call from all others. */
    private record Name(String from, long number) {
        static Name of(NodeMessage.Forwarded call) {
            return new Name(call.from(), call.number());
        }
    }

    /**
     * @param blocking does something where it may block
     */
    BackendInbox(ClusterWriter store, JournalVersions versions, Executor blocking) {
        this.store = store;
        this.blocking = blocking;
        this.versions = versions;
        this.tasks = new SessionTasks(blocking);
        this.answers = new SessionTasks(blocking);
    }

    /** Does something where it may block. */
    Executor blocking() {
        return blocking;
    }

    /** Whether a message has not come before. */
    boolean comesFirst(NodeMessage message) {
        return !(message instanceof NodeMessage.Forwarded call) || comesFirst(call);
    }

    /**
     * Lets the backend have it; it may do much on the thread that tells it something.
     *
     * @param bytes how large it is
     */
    void heard(LiveSession session, NodeMessage message, long bytes) {
        if (message instanceof NodeMessage.Cancelled cancelled) {
            // before a call from here is said to be taken by the node that has the backend
            session.cancelOnItsWay(cancelled.cancellation());
        }
        SessionTasks way = message instanceof NodeMessage.Answered ? answers : tasks;
        if (!way.add(session, bytes, () -> ready(session, message), () -> hears(session, message))) {
            dropped.write(more ->
                    logger.warn("session {}: what another node has sent is dropped{}", session.shortId(), more));
            notTaken(message);
        }
    }

    /** Lets the only backend, which is here, hear a notification that has arrived on this node; refuses it where too much waits. */
    CompletionStage<Optional<Refusal>> notify(LiveSession session, InboundMessage notification) {
        return notify(session, () -> versions.catchUpIfPossible(session), notification);
    }

    /**
     * The same where each node has a backend of its own. Where nothing waits it hears that at once, unless another node may have
     * initialized the session: then that is read first.
     */
    CompletionStage<Optional<Refusal>> notifyOwn(LiveSession session, InboundMessage notification) {
        return session.revision().isEmpty() || tasks.busy(session)
                ? notify(session, () -> versions.learnRevision(session), notification)
                : session.notify(notification);
    }

    /**
     * Lets the backend hear it after what came before.
     *
     * @param ready completes when it may hear it; where that fails it does not
     */
    private CompletionStage<Optional<Refusal>> notify(
            LiveSession session, Supplier<CompletionStage<Void>> ready, InboundMessage notification) {
        CompletableFuture<Optional<Refusal>> taken = new CompletableFuture<>();
        boolean waits = tasks.add(
                session,
                notification.bytes().length,
                () -> StoreQuestion.ask(ready).handle((done, failure) -> fail(taken, failure)),
                () -> hears(session, notification, taken));
        return waits ? taken : CompletableFuture.completedFuture(Optional.of(Refusal.BACKEND));
    }

    private static void hears(
            LiveSession session, InboundMessage notification, CompletableFuture<Optional<Refusal>> taken) {
        if (!taken.isDone()) {
            StoreQuestion.asked(() -> session.notify(notification)).whenComplete((refusal, failure) -> {
                if (!fail(taken, failure)) {
                    taken.complete(refusal);
                }
            });
        }
    }

    private static boolean fail(CompletableFuture<Optional<Refusal>> taken, @Nullable Throwable failure) {
        return failure != null && taken.completeExceptionally(failure);
    }

    /** There is no such session in memory here, it does not have the epoch, or too much waits for it. */
    void notTaken(NodeMessage message) {
        host(message).filter(epoch -> !has(message.key(), epoch)).ifPresent(epoch -> {
            CompletionStage<Void> unused = StoreQuestion.ask(() -> store.fence(message.key(), Stream.of(epoch)));
        });
        if (message instanceof NodeMessage.Forwarded call) {
            decline(call);
        }
    }

    /** The epoch that a message is for, if it is for one. */
    private static Optional<Epoch> host(NodeMessage message) {
        if (message instanceof NodeMessage.Forwarded call) {
            return Optional.of(call.host());
        }
        return message instanceof NodeMessage.Notified notified ? Optional.of(notified.host()) : Optional.empty();
    }

    private boolean has(SessionKey key, Epoch epoch) {
        return store.membership(key).filter(own -> own.epochs.contains(epoch)).isPresent();
    }

    /** A notification comes behind what was put into the journal before it. */
    private CompletionStage<Void> ready(LiveSession session, NodeMessage message) {
        return message instanceof NodeMessage.Notified ? versions.catchUpIfPossible(session) : SessionTasks.DONE;
    }

    private void hears(LiveSession session, NodeMessage message) {
        if (host(message).filter(epoch -> !has(session.key(), epoch)).isPresent()) {
            notTaken(message);
        } else if (message instanceof NodeMessage.Answered answered) {
            CompletionStage<Boolean> unused = session.answer(answered.answer());
        } else if (message instanceof NodeMessage.Cancelled cancelled) {
            session.cancel(cancelled.cancellation());
        } else if (message instanceof NodeMessage.Journaled && session.catchUp().hasBackend()) {
            CompletionStage<Void> unused = versions.catchUpIfPossible(session);
        } else if (message instanceof NodeMessage.Notified notified) {
            CompletionStage<Optional<Refusal>> unused = session.notify(notified.notification());
        } else if (message instanceof NodeMessage.Forwarded call) {
            run(session, call);
        }
    }

    /** Whether a call has not come before; one that has gets the answer that there is, which may have been lost. */
    private boolean comesFirst(NodeMessage.Forwarded call) {
        CompletableFuture<NodeMessage> answer = said.putIfAbsent(Name.of(call), new CompletableFuture<>());
        if (answer != null && answer.isDone()) {
            send(call, answer.join());
        }
        return answer == null;
    }

    /** Runs a call, unless nothing of it is wanted any more. */
    private void run(LiveSession session, NodeMessage.Forwarded call) {
        if (call.requests().isEmpty()) {
            decline(call);
            return;
        }
        StoreQuestion.ask(() -> session.call(call.requests(), call.number(), call.behind())
                        .thenCompose(begun -> versions.catchUpFor(session, begun)))
                .whenComplete((outcome, failure) -> {
                    if (outcome instanceof Call.Accepted accepted) {
                        taken(session, call, accepted.call());
                        blocking.execute(accepted.call()::dispatch);
                    } else {
                        NodeMessage.NotTaken why =
                                failure == null ? NodeMessage.NotTaken.of(outcome) : NodeMessage.NotTaken.FAILED;
                        reply(call, new NodeMessage.Declined(session.key(), call.number(), why));
                    }
                });
    }

    private void taken(LiveSession session, NodeMessage.Forwarded forwarded, Call call) {
        StreamId stream = call.stream();
        // its client reads it on the node that has forwarded it
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.IN_ORDER));
        reply(forwarded, new NodeMessage.Taken(session.key(), forwarded.number(), stream, session.epoch()));
    }

    /** There is no such session in memory here, or too much waits for it. */
    private void decline(NodeMessage.Forwarded call) {
        reply(call, new NodeMessage.Declined(call.key(), call.number(), NodeMessage.NotTaken.NOT_HERE));
    }

    private void reply(NodeMessage.Forwarded call, NodeMessage answer) {
        CompletableFuture<NodeMessage> asked = said.get(Name.of(call));
        if (asked != null) {
            asked.complete(answer);
        }
        send(call, answer);
    }

    private void send(NodeMessage.Forwarded call, NodeMessage answer) {
        byte[] message = answer.pack();
        // without a lease nobody waits for it: whoever has asked finds this node dead
        CompletionStage<Boolean> unused = StoreQuestion.ask(() ->
                store.lease().insist(store.lease().node(), () -> store.bus().send(call.from(), message)));
    }

    /**
     * Tasks of sessions, which may block; those of one session are done one after another, in order. Safe for use by any thread.
     */
    private static final class SessionTasks {
        /** So many tasks may wait for a session; further ones are dropped. */
        private static final int MOST = 1_024;

        /** When the tasks of a session keep so many bytes, further ones are dropped. */
        private static final long MOST_BYTES = 16 << 20;

        /** What may be done at once is ready so. */
        static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

        private final Executor blocking;
        private final Map<LiveSession, Waiting> waiting = new ConcurrentHashMap<>();

        /**
         * Something to do.
         *
         * @param bytes how much it keeps in memory until then
         * @param ready completes when it may be done, and never fails; what comes after it waits too
         */
        private record Task(long bytes, Supplier<? extends CompletionStage<?>> ready, Runnable work) {}

        /** What is to be done for one session; used inside of the map. */
        private static final class Waiting {
            private final Queue<Task> tasks = new ArrayDeque<>(1);
            private long bytes;

            private boolean add(Task task) {
                if (tasks.size() >= MOST || bytes >= MOST_BYTES) {
                    return false;
                }
                bytes += task.bytes;
                return tasks.add(task);
            }

            private @Nullable Task next() {
                Task task = tasks.poll();
                bytes -= task == null ? 0 : task.bytes;
                return task;
            }
        }

        /**
         * @param blocking does something where it may block
         */
        SessionTasks(Executor blocking) {
            this.blocking = blocking;
        }

        /**
         * Does this after what came before it for the session; false where too much waits.
         *
         * @param bytes how much it keeps in memory until it is done
         * @param ready completes when it may be done, and never fails
         */
        boolean add(LiveSession session, long bytes, Supplier<? extends CompletionStage<?>> ready, Runnable work) {
            AtomicBoolean begins = new AtomicBoolean();
            AtomicBoolean taken = new AtomicBoolean();
            waiting.compute(session, (key, found) -> {
                begins.setPlain(found == null);
                Waiting queue = found == null ? new Waiting() : found;
                taken.setPlain(queue.add(new Task(bytes, ready, work)));
                return queue;
            });
            if (begins.getPlain()) {
                blocking.execute(() -> work(session));
            }
            return taken.getPlain();
        }

        /** Whether something that was to be done for the session before is not done yet. */
        boolean busy(LiveSession session) {
            return waiting.containsKey(session);
        }

        private void work(LiveSession session) {
            for (Optional<Task> next = next(session); next.isPresent(); next = next(session)) {
                Task task = next.get();
                CompletableFuture<?> ready = ready(session, task);
                if (!ready.isDone()) {
                    ready.whenCompleteAsync(
                            (done, failure) -> {
                                run(session, task);
                                work(session);
                            },
                            blocking);
                    return;
                }
                run(session, task);
            }
        }

        private static CompletableFuture<?> ready(LiveSession session, Task task) {
            try {
                return task.ready().get().toCompletableFuture();
            } catch (Throwable e) {
                failed(session, e);
                return DONE;
            }
        }

        private static void run(LiveSession session, Task task) {
            try {
                task.work().run();
            } catch (Throwable e) {
                failed(session, e);
            }
        }

        private static void failed(LiveSession session, Throwable failure) {
            logger.error("session {}: what has come for its backend failed", session.shortId(), failure);
        }

        private Optional<Task> next(LiveSession session) {
            AtomicReference<@Nullable Task> next = new AtomicReference<>();
            waiting.computeIfPresent(session, (key, queue) -> {
                Task task = queue.next();
                next.setPlain(task);
                return task == null ? null : queue;
            });
            return Optional.ofNullable(next.getPlain());
        }
    }
}

package dev.holdfast.engine;

import dev.holdfast.Opening.Opened;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.MessageFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A backend that has no more connections at once than it says. A new session is turned away where all of them are in use; a
 * session that is used again after its connection has ended waits for a while.
 */
final class LimitedBackend implements Backend {
    private static final int SERVER_ERROR = -32000;
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

    private final Backend backend;
    private final BackendPlaces places;
    private final MessageFactory messages;

    LimitedBackend(Backend backend, BackendPlaces places, MessageFactory messages) {
        this.backend = backend;
        this.places = places;
        this.messages = messages;
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        boolean newcomer = sink.sessionId().isEmpty();
        BackendPlaces.Place place = places.ask(request.principal(), newcomer ? Duration.ZERO : LONGEST_WAIT);
        sink.onAbandon(place::abandon);
        return place.granted()
                .thenCompose(granted -> granted
                        ? opened(request, sink, place)
                        : CompletableFuture.completedFuture(busy(request.initialize())));
    }

    private Busy busy(InboundMessage initialize) {
        String cause = Refusal.BACKENDS.text();
        return new Busy(messages.error(initialize.requiredId(), SERVER_ERROR, cause), cause);
    }

    private CompletionStage<Outcome> opened(OpenRequest request, ListeningSink sink, BackendPlaces.Place place) {
        CompletionStage<Outcome> opening;
        try {
            opening = backend.open(request, sink);
        } catch (Throwable e) {
            opening = CompletableFuture.failedFuture(e);
        }
        return opening.whenComplete((outcome, failure) -> {
                    if (!(outcome instanceof Opened)) {
                        place.free();
                    }
                })
                .thenApply(outcome -> outcome instanceof Opened opened
                        ? new Opened(
                                new Placed(opened.connection(), place),
                                opened.response(),
                                opened.revision(),
                                opened.sessionId())
                        : outcome);
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return backend.mayBeRerun(request, principal);
    }

    @Override
    public boolean executesImmediately() {
        return backend.executesImmediately();
    }

    @Override
    public boolean existsOnce() {
        return backend.existsOnce();
    }

    @Override
    public boolean needsContext() {
        return backend.needsContext();
    }

    @Override
    public long requestMemory(long bytes, long tokens) {
        return backend.requestMemory(bytes, tokens);
    }

    @Override
    public int mostConnections() {
        return backend.mostConnections();
    }

    /** A connection that has a place until nothing is left of it. */
    private static final class Placed implements BackendConnection {
        private final BackendConnection connection;
        private final BackendPlaces.Place place;
        private boolean closed;

        private Placed(BackendConnection connection, BackendPlaces.Place place) {
            this.connection = connection;
            this.place = place;
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            connection.call(request, sink);
        }

        @Override
        public void replay(InboundMessage request, CallSink sink) {
            connection.replay(request, sink);
        }

        @Override
        public void notify(InboundMessage notification) {
            connection.notify(notification);
        }

        @Override
        public void answer(InboundMessage response) {
            connection.answer(response);
        }

        @Override
        public CompletionStage<Void> close() {
            if (!closes()) {
                return connection.close();
            }
            place.leaves();
            CompletionStage<Void> end;
            try {
                end = connection.close();
            } catch (Throwable e) {
                end = CompletableFuture.failedFuture(e);
            }
            return end.whenComplete((gone, failure) -> place.free());
        }

        /** Whether this is the first close. */
        private synchronized boolean closes() {
            boolean first = !closed;
            closed = true;
            return first;
        }
    }

    /**
     * The places of a backend's connections, of which there are so many. A place is taken before a connection is opened, and is free
     * again when nothing of the connection is left. Those who wait for one are served in their order. For each of them that no
     * connection on its way out makes room for, a connection ends that nobody uses. Safe for use by any thread.
     */
    static final class BackendPlaces {
        private static final Logger logger = LoggerFactory.getLogger(BackendPlaces.class);
        /** How long it takes until those who wait because all connections are in use are looked after again. */
        private static final long LOOK_MILLIS = 50;

        private final Quota quota;
        private final Predicate<String> makeRoom;
        private final LongSupplier clock;
        private final ScheduledExecutorService scheduler;
        private final Executor executor;
        private final ReentrantLock lock = new ReentrantLock();
        private final Set<Place> waiting = new LinkedHashSet<>();
        private final AtomicInteger looks = new AtomicInteger();
        /** How many connections of a principal are on their way out. */
        private final Map<String, Integer> leaving = new HashMap<>();

        private boolean lookComes;

        /**
         * Places that are all free.
         *
         * @param makeRoom ends a connection that nobody uses, of a principal, or of any for the empty one, and returns when its end has
         *     begun; false if all are in use
         * @param clock tells nanoseconds
         * @param executor where those go on who have waited; they may block there
         */
        BackendPlaces(
                Quota quota,
                Predicate<String> makeRoom,
                LongSupplier clock,
                ScheduledExecutorService scheduler,
                Executor executor) {
            this.quota = quota;
            this.makeRoom = makeRoom;
            this.clock = clock;
            this.scheduler = scheduler;
            this.executor = executor;
        }

        /** The place of one connection. */
        final class Place {
            private final CompletableFuture<Boolean> granted = new CompletableFuture<>();
            private final String principal;
            private final long deadline;
            private boolean leaves;

            private Place(String principal, Duration longest) {
                this.principal = principal;
                this.deadline = clock.getAsLong() + longest.toNanos();
            }

            /** Completes with true when the place is taken, and with false when there is none. */
            CompletionStage<Boolean> granted() {
                return granted;
            }

            /** Gives up waiting; changes nothing where the place is taken. */
            void abandon() {
                if (locked(() -> waiting.remove(this))) {
                    granted.complete(false);
                }
            }

            /** The connection is on its way out. */
            void leaves() {
                locked(() -> {
                    if (!leaves) {
                        leaving.merge(principal, 1, Integer::sum);
                    }
                    leaves = true;
                    return leaving;
                });
            }

            /** Nothing is left of the connection; called once. */
            void free() {
                locked(() -> {
                    if (leaves) {
                        leaving.computeIfPresent(principal, (who, count) -> count == 1 ? null : count - 1);
                    }
                    quota.add(principal, -1);
                    return leaving;
                });
                look();
            }

            private void goOn() {
                try {
                    executor.execute(() -> granted.complete(true));
                } catch (RuntimeException | Error e) {
                    // there may be too many threads, or an executor that is full
                    logger.error("nobody opens a backend for a session that waits for it", e);
                    granted.complete(false);
                    free();
                }
            }
        }

        /**
         * Asks for a place.
         *
         * @param principal for whom, empty for nobody in particular
         * @param longest how long to wait where all connections are in use; one that is on its way out is waited for in any case
         */
        Place ask(String principal, Duration longest) {
            Place place = new Place(principal, longest);
            boolean free = locked(() -> {
                boolean now = waiting.isEmpty() && quota.take(principal, 1).isEmpty();
                if (!now) {
                    waiting.add(place);
                }
                return now;
            });
            if (free) {
                place.granted.complete(true);
            } else {
                look();
            }
            return place;
        }

        /** Looks after those who wait, on one thread at a time: two would end more connections than are needed. */
        private void look() {
            if (looks.getAndIncrement() > 0) {
                return;
            }
            int missed = 1;
            while (missed > 0) {
                Map<Place, String> without = grant();
                while (makesRoom(without.values())) {
                    without = grant();
                }
                refuse(without.keySet());
                missed = looks.addAndGet(-missed);
            }
        }

        /** Ends a connection that nobody uses, of the first principal that has one; the empty one is anybody. */
        private boolean makesRoom(Collection<String> principals) {
            try {
                return principals.stream().distinct().anyMatch(makeRoom);
            } catch (RuntimeException | Error e) {
                logger.error("no room was made for a session that waits for a backend", e);
                return false;
            }
        }

        /** Gives places that are free to the first of those who wait, and returns the {@link #uncovered}. */
        private Map<Place, String> grant() {
            List<Place> next = new ArrayList<>(0);
            Map<Place, String> without = locked(() -> {
                waiting.removeIf(place -> quota.take(place.principal, 1).isEmpty() && next.add(place));
                return uncovered();
            });
            next.forEach(Place::goOn);
            return without;
        }

        /**
         * Those who wait and get none of the places that will be free when the connections on their way out are gone, each with the
         * principal of which a connection has to end for it. Who has his share by then can only take the place of one of his own. Under
         * the lock.
         */
        private Map<Place, String> uncovered() {
            if (waiting.isEmpty()) {
                return Map.of();
            }
            Map<String, Integer> own = new HashMap<>(leaving);
            Map<String, Integer> promised = new HashMap<>();
            int left = leaving.values().stream().mapToInt(Integer::intValue).sum();
            Map<Place, String> uncovered = new LinkedHashMap<>();
            for (Place place : waiting) {
                boolean hasShare = quota.hasShare(place.principal, promised.getOrDefault(place.principal, 0));
                if (left > 0 && !hasShare) {
                    promised.merge(place.principal, 1, Integer::sum);
                    left--;
                } else if (left > 0 && own.getOrDefault(place.principal, 0) > 0) {
                    own.merge(place.principal, -1, Integer::sum);
                    left--;
                } else {
                    uncovered.put(place, hasShare ? place.principal : "");
                }
            }
            return uncovered;
        }

        /**
         * Turns away who has waited for long enough, unless a place has come free meanwhile.
         *
         * @param without those for whom there was none, and for whom none could be made
         */
        private void refuse(Set<Place> without) {
            long now = clock.getAsLong();
            List<Place> late = locked(() -> {
                List<Place> refused = uncovered().keySet().stream()
                        .filter(place -> now - place.deadline >= 0)
                        .filter(without::contains)
                        .filter(place -> quota.refusal(place.principal, 1).isPresent())
                        .toList();
                refused.forEach(waiting::remove);
                if (!lookComes && !uncovered().isEmpty()) {
                    lookComes = true;
                    Future<?> unused = scheduler.schedule(this::lookAgain, LOOK_MILLIS, TimeUnit.MILLISECONDS);
                }
                return refused;
            });
            late.forEach(place -> place.granted.complete(false));
        }

        private void lookAgain() {
            locked(() -> lookComes = false);
            look();
        }

        private <T> T locked(Supplier<T> change) {
            lock.lock();
            try {
                return change.get();
            } finally {
                lock.unlock();
            }
        }
    }
}

package dev.holdfast.engine;

import dev.holdfast.Refusal;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.MessageFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A backend that has no more connections at once than it says. A new session is turned away where all of them are in use; a
 * session that is used again after its connection has ended waits for a while.
 */
final class LimitedBackend implements Backend {
    private static final int SERVER_ERROR = -32000;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

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
        BackendPlaces.Place place = places.ask(request.principal(), newcomer ? Duration.ZERO : PATIENCE);
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
}

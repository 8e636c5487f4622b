package dev.holdfast.engine;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** A backend that does what the test says. Opens at once, unless {@link #slow}. */
final class TestBackend implements Backend {
    static final String REVISION = "2025-11-25";

    final List<Life> lives = new ArrayList<>();
    boolean slow;
    /** Why no connection can be opened. */
    Optional<Throwable> unopened = Optional.empty();
    /** The method that may be run again. */
    String harmless = "";

    boolean immediate;
    boolean answersReplayed = true;
    /** Whether its first life takes the place of another backend's. */
    boolean joining;

    /** Whether a session has one of its lives in the whole cluster. */
    boolean once;

    String revision = REVISION;
    String introduction = "result 0";
    boolean needsContext;
    /** How many connections there may be. */
    int most = Integer.MAX_VALUE;

    /** Whether a connection that is closed takes its time; then {@link Life#gone} ends it. */
    boolean lingering;

    private String proposed = "";

    /** The session id that the next connection proposes. */
    void propose(String id) {
        proposed = id;
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        unopened.ifPresent(TestBackend::raise);
        Life life = new Life(request, sink);
        lives.add(life);
        sink.onAbandon(() -> life.abandoned++);
        if (!slow) {
            life.accept();
        }
        return life.outcome;
    }

    @Override
    public boolean existsOnce() {
        return once;
    }

    private static void raise(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) failure;
    }

    @Override
    public boolean needsContext() {
        return needsContext;
    }

    @Override
    public int mostConnections() {
        return most;
    }

    /** Its process is gone, and with it everything it had open. */
    void died() {
        lives.forEach(life -> life.closed++);
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return request.method().equals(harmless);
    }

    @Override
    public boolean executesImmediately() {
        return immediate;
    }

    /** The latest incarnation. */
    Life life() {
        return lives.get(lives.size() - 1);
    }

    /** A request in the hands of the backend. */
    record Asked(InboundMessage request, CallSink sink) {
        /** Sends the result. */
        CompletionStage<Void> respond() {
            return sink.send(Wire.response(request.requiredId()));
        }
    }

    /** One incarnation of a session's backend. */
    final class Life implements BackendConnection {
        final OpenRequest request;
        final ListeningSink sink;
        final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        final List<Asked> calls = new ArrayList<>();
        /** Everything that came, in order. */
        final List<String> heard = new ArrayList<>();

        /** What it throws. */
        Optional<Throwable> failure = Optional.empty();
        /** On what it throws; empty for everything. */
        String failingOn = "";

        String dyingFrom = "";
        /** Happens while it is given a request. */
        Consumer<InboundMessage> meanwhile = request -> {};

        int closed;
        int abandoned;
        private final CompletableFuture<Void> gone = new CompletableFuture<>();
        private boolean replayed;

        private Life(OpenRequest request, ListeningSink sink) {
            this.request = request;
            this.sink = sink;
            this.replayed = lives.isEmpty() && !joining;
        }

        void accept() {
            Optional<String> id = proposed.isEmpty() || lives.size() > 1 ? Optional.empty() : Optional.of(proposed);
            outcome.complete(new Opened(this, Wire.out(EventKind.RESPONSE, Wire.id(0), introduction), revision, id));
        }

        void refuse() {
            outcome.complete(new Refused(Wire.refusal(Wire.id(0))));
        }

        void stayAway() {
            outcome.complete(new Unreachable(Wire.refusal(Wire.id(0)), "it is away"));
        }

        /** The latest call of this request. */
        Asked call(int id) {
            RequestId wanted = Wire.id(id);
            for (int i = calls.size() - 1; i >= 0; i--) {
                if (calls.get(i).request.requiredId().equals(wanted)) {
                    return calls.get(i);
                }
            }
            throw new NoSuchElementException("no call " + id);
        }

        @Override
        public void call(InboundMessage request, CallSink callSink) {
            failIfTold(request);
            heard.add(Wire.text(request.bytes()));
            calls.add(new Asked(request, callSink));
            meanwhile.accept(request);
            if (answersReplayed && !replayed && !request.method().equals("tools/call")) {
                callSink.send(Wire.response(request.requiredId()));
            }
            if (dyingFrom.equals(Wire.text(request.bytes()))) {
                sink.lost("it died of " + dyingFrom);
            }
        }

        @Override
        public void notify(InboundMessage notification) {
            failIfTold(notification);
            heard.add(Wire.text(notification.bytes()));
        }

        @Override
        public void answer(InboundMessage response) {
            heard.add(Wire.text(response.bytes()));
        }

        private void failIfTold(InboundMessage message) {
            if (failingOn.isEmpty() || failingOn.equals(Wire.text(message.bytes()))) {
                failure.ifPresent(TestBackend::raise);
            }
        }

        @Override
        public CompletionStage<Void> close() {
            closed++;
            if (!lingering) {
                gone();
            }
            return gone;
        }

        /** Nothing is left of the connection. */
        void gone() {
            gone.complete(null);
        }
    }
}

package dev.holdfast.rocksdb;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.OutboundMessage;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A backend that holds calls of two methods until the test answers them; everything else it answers at once. */
final class HoldingBackend implements Backend {
    static final String REVISION = "2025-11-25";
    /** The method that may be run again. */
    static final String HARMLESS = "resources/read";

    static final String HARMFUL = "tools/call";

    private final BlockingQueue<Life> lives = new LinkedBlockingQueue<>();
    private final Introduction introduction;
    private volatile String proposed = "";

    /**
     * @param introduction what it says of itself
     */
    HoldingBackend(Introduction introduction) {
        this.introduction = introduction;
    }

    /** The session id that it proposes from here on. */
    void propose(String id) {
        proposed = id;
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        Life life = new Life(request, sink);
        lives.add(life);
        Optional<String> id = Optional.of(proposed).filter(name -> !name.isEmpty());
        OutboundMessage response = Words.introduction(request.initialize().requiredId(), introduction);
        return CompletableFuture.completedFuture(new Opened(life, response, REVISION, id));
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return request.method().equals(HARMLESS);
    }

    /** The next that is opened, or was. */
    Life next() throws Exception {
        return next(lives);
    }

    private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
        return Objects.requireNonNull(queue.poll(20, TimeUnit.SECONDS), "nothing came");
    }

    /** A call in its hands. What is sent is committed when the method returns. */
    record Held(InboundMessage request, CallSink sink) {
        void respond() throws Exception {
            send(Words.response(request.requiredId()));
        }

        void send(OutboundMessage message) throws Exception {
            Sample.await(sink.send(message));
        }
    }

    /** One connection. */
    static final class Life implements BackendConnection {
        final OpenRequest request;
        final ListeningSink sink;
        /** Everything that came, in order. */
        final List<String> heard = new CopyOnWriteArrayList<>();

        private final BlockingQueue<Held> calls = new LinkedBlockingQueue<>();

        private Life(OpenRequest request, ListeningSink sink) {
            this.request = request;
            this.sink = sink;
        }

        /** The next call that comes, or came. */
        Held nextCall() throws Exception {
            return next(calls);
        }

        /** Sends outside of any call: this, and everything before it, is committed when the method returns. */
        void send(OutboundMessage message) throws Exception {
            Sample.await(sink.send(message));
        }

        @Override
        public void call(InboundMessage call, CallSink answers) {
            heard.add(Words.text(call.bytes()));
            if (call.method().equals(HARMLESS) || call.method().equals(HARMFUL)) {
                calls.add(new Held(call, answers));
            } else {
                answers.send(Words.response(call.requiredId()));
            }
        }

        @Override
        public void notify(InboundMessage notification) {
            heard.add(Words.text(notification.bytes()));
        }

        @Override
        public void answer(InboundMessage response) {
            heard.add(Words.text(response.bytes()));
        }

        @Override
        public CompletionStage<Void> close() {
            return CompletableFuture.completedFuture(null);
        }
    }
}

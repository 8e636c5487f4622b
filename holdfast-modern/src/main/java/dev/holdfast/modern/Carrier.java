package dev.holdfast.modern;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.ServerIntroduction;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session whose calls are requests that name no session. What several clients send comes together here, and each begins to count its ids
 * at one: so each call has an id of the carrier's. Safe for use by any thread.
 */
public final class Carrier {
    private static final Logger logger = LoggerFactory.getLogger(Carrier.class);
    private static final String CANCELLED = "notifications/cancelled";

    /** Which requests it carries. */
    enum Use {
        /** One, with which it ends. */
        ONCE,
        /** One after the other. */
        IN_TURN,
        /** As many as there are. */
        SHARED
    }

    private final SessionEngine engine;
    private final Session session;
    private final ServerIntroduction introduction;
    private final Use use;
    /** Gives answers to the backend; a handler may go on there. */
    private final Executor answering;

    private final AtomicLong lastId = new AtomicLong();
    private volatile Runnable freed = () -> {};

    // guarded by this
    private int requests = 1;
    private int keptCalls;
    private long since;
    private boolean ended;
    private @Nullable CompletionStage<Optional<Feed>> feed;

    /** A carrier for the request that it is made for. */
    Carrier(SessionEngine engine, Session session, ServerIntroduction introduction, Use use, Executor answering) {
        this.engine = engine;
        this.session = session;
        this.introduction = introduction;
        this.use = use;
        this.answering = answering;
    }

    /** The session. */
    public Session session() {
        return session;
    }

    /** What the backend says of itself. */
    public ServerIntroduction introduction() {
        return introduction;
    }

    /** A request of a client under an id that no other call of the session has. */
    public Envelope named(Envelope request) {
        return request.withId(new RequestId(Long.toString(lastId.incrementAndGet())));
    }

    /** Counts one more request; false if it has been ended. */
    synchronized boolean enter() {
        requests += ended ? 0 : 1;
        return !ended;
    }

    /** A request that has taken it needs it no more. */
    public void release() {
        if (use == Use.ONCE) {
            end();
        } else {
            count(-1, 0);
            freed.run();
        }
    }

    /** What is done when a request needs it no more; set before the first request has it. */
    void whenFreed(Runnable task) {
        freed = task;
    }

    /** A request needs it no more, but its client may come back for the call within this time. */
    void keep(Duration ttl) {
        // the session of a single call ends by itself
        if (use != Use.ONCE) {
            count(-1, 1);
            Future<?> unused = engine.scheduler()
                    .schedule(
                            () -> {
                                count(0, -1);
                                if (use == Use.IN_TURN) {
                                    end();
                                }
                            },
                            ttl.toMillis(),
                            TimeUnit.MILLISECONDS);
        }
    }

    private synchronized void count(int moreRequests, int moreCalls) {
        requests += moreRequests;
        keptCalls += moreCalls;
        since = engine.clock().getAsLong();
    }

    /** Ends it if nobody has used it for so long; false if not. */
    boolean endIfIdle(Duration idle) {
        synchronized (this) {
            boolean used = requests > 0 || keptCalls > 0 || engine.clock().getAsLong() - since < idle.toNanos();
            if (used) {
                return false;
            }
            ended = true;
        }
        end();
        return true;
    }

    private void end() {
        session.terminate().whenComplete((done, failure) -> logged("ended", failure));
    }

    /** What its backend sends outside of calls; empty where nobody can read that. */
    synchronized CompletionStage<Optional<Feed>> feed() {
        CompletionStage<Optional<Feed>> there = feed;
        if (there == null) {
            Feed begun = new Feed(this, engine.clock());
            there = begun.begin().thenApply(reads -> reads ? Optional.of(begun) : Optional.empty());
            feed = there;
        }
        return there;
    }

    /** Gives an answer to its backend. */
    void answer(InboundMessage answer) {
        answering.execute(
                () -> session.answer(answer).whenComplete((taken, failure) -> logged("given an answer", failure)));
    }

    /** Asks the backend something about a resource, for no client; completes with whether it has answered with a result. */
    CompletionStage<Boolean> ask(String method, String uri) {
        RequestId id = new RequestId(Long.toString(lastId.incrementAndGet()));
        String body = "{\"jsonrpc\":\"2.0\",\"id\":" + id.token() + ",\"method\":\"" + method
                + "\",\"params\":{\"uri\":" + JsonParts.quoted(uri) + "}}";
        JournalChange change = method.equals("resources/subscribe")
                ? new JournalChange.Put("resources/subscribe:" + uri)
                : new JournalChange.Remove("resources/subscribe:" + uri);
        InboundMessage request = new InboundMessage(
                InboundMessage.Kind.REQUEST, id, method, body.getBytes(UTF_8), change, InboundMessage.NO_CONTEXT);
        return session.call(List.of(request)).thenCompose(outcome -> {
            if (!(outcome instanceof Call.Accepted accepted)) {
                return CompletableFuture.completedFuture(false);
            }
            Answer answer = new Answer(accepted.call().reader().orElseThrow());
            accepted.call().dispatch();
            return answer.given();
        });
    }

    /** Waits for the answer to a request of nobody's. */
    private static final class Answer implements StreamReader.Waker {
        private final StreamReader reader;
        private final CompletableFuture<Boolean> given = new CompletableFuture<>();
        private boolean closed;

        private Answer(StreamReader reader) {
            this.reader = reader;
            reader.wakeWith(this);
        }

        private CompletionStage<Boolean> given() {
            wake();
            return given;
        }

        @Override
        public synchronized void wake() {
            StreamReader.Next next = closed ? StreamReader.Rest.REST : reader.read(1 << 16);
            while (next instanceof StreamReader.Events events) {
                for (Event event : events.events()) {
                    if (EventKind.answers(event.kind())) {
                        given.complete(event.kind() == EventKind.RESPONSE);
                    }
                }
                next = reader.read(1 << 16);
            }
            if (next instanceof StreamReader.End) {
                given.complete(false);
                closed = true;
                reader.close(StreamReader.Close.IN_ORDER);
            }
        }

        @Override
        public void abort() {
            given.complete(false);
        }
    }

    /** Gives up a call whose client has gone. */
    void cancel(RequestId call) {
        cancel(session, call).whenComplete((done, failure) -> logged("told of a cancellation", failure));
    }

    /** Gives up a call of a session; completes when whoever runs it knows. */
    static CompletionStage<Void> cancel(Session session, RequestId call) {
        String body = "{\"jsonrpc\":\"2.0\",\"method\":\"" + CANCELLED + "\",\"params\":{\"requestId\":" + call.token()
                + ",\"reason\":\"its client does not want it any more\"}}";
        InboundMessage notification = new InboundMessage(
                InboundMessage.Kind.NOTIFICATION,
                null,
                CANCELLED,
                body.getBytes(UTF_8),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
        return session.cancel(call, notification);
    }

    /** What is done beside a request fails without it. */
    static void logged(String what, @Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("a carrier could not be {}", what, failure);
        }
    }
}

package dev.holdfast.modern;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.Session.KeptStream;
import dev.holdfast.SessionState;
import dev.holdfast.StreamReader;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.ServerIntroduction;
import dev.holdfast.json.ToolHeaders;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session whose calls are requests that name no session. What several clients send comes together here, and each begins to count its ids
 * at one: so each call has an id of the carrier's. Safe for use by any thread.
 *
 * <p>It counts the calls that run, the clients that listen or still read an answer, and the calls for which somebody may come back: one
 * without any ends when it is not used for a while. One that is retired carries nothing new, and ends with the last of them.
 */
public final class Carrier {
    private static final Logger logger = LoggerFactory.getLogger(Carrier.class);
    /** A session takes twice as many calls at once. */
    private static final int MOST_RUNNING = 32;
    /** Their results have to find room in one session. */
    private static final int MOST_KEPT = 16;

    private static final int READ_BYTES = 1 << 16;
    /** How long the handler that an answer reaches may run before whoever brings the answer goes on. */
    private static final long MOMENT_MILLIS = 500;

    /** Which requests it carries. */
    enum Use {
        /** One, with which it ends. */
        ONCE,
        /** None here: it was opened at another node, or by an earlier process, and may keep calls of several clients. */
        ELSEWHERE,
        /** One after the other. */
        IN_TURN,
        /** As many as there are. */
        SHARED
    }

    private final SessionEngine engine;
    private final Session session;
    private final ServerIntroduction introduction;
    private final ToolHeaders tools;
    private final Use use;
    /** Gives answers to the backend; a handler may go on there. */
    private final Executor answering;

    private final AtomicLong lastId = new AtomicLong();

    // guarded by this
    private int running = 1;
    private int listening;
    /** What forgets the calls for which somebody may come back, by the nonces of their notes. */
    private final Map<String, Future<?>> kept = new HashMap<>(0);

    /** When its last request was over. */
    private long since;

    private boolean retired;
    private boolean ended;
    /** Whether what it keeps may leave too little room for the answer to another. */
    private boolean full;

    private @Nullable CompletionStage<Optional<Feed>> feed;

    /** A carrier of one request, so far. */
    Carrier(
            SessionEngine engine,
            Session session,
            ServerIntroduction introduction,
            ToolHeaders tools,
            Use use,
            Executor answering) {
        this.engine = engine;
        this.session = session;
        this.introduction = introduction;
        this.tools = tools;
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

    /** What the calls of its tools repeat in headers. */
    public ToolHeaders tools() {
        return tools;
    }

    /** Where the backend may be called though a handler goes on there. */
    Executor answering() {
        return answering;
    }

    /** A request of a client as the session takes it, under an id that no other call there has. */
    public Envelope named(Envelope request) {
        return request.withoutClaims().withId(new RequestId(Long.toString(lastId.incrementAndGet())));
    }

    /** How many requests one may carry at once that is used so. */
    static int most(Use use) {
        return use == Use.SHARED ? MOST_RUNNING : 1;
    }

    /** Takes one more request; false if it has enough, or takes none any more. */
    synchronized boolean enter() {
        boolean takes = !retired && !ended && !full && running < most(use) && kept.size() < MOST_KEPT;
        running += takes ? 1 : 0;
        return takes;
    }

    /** Takes the requests that have waited for it. */
    synchronized void enterMore(int requests) {
        running += requests;
    }

    /**
     * The call of a request is over, or there was none.
     *
     * @param givenUp whether the backend may still ask something for it, which must reach nobody else
     */
    public void leave(boolean givenUp) {
        measure();
        synchronized (this) {
            running--;
            since = engine.clock().getAsLong();
            retired |= use == Use.IN_TURN && givenUp;
        }
        endIfRetired();
    }

    /** A request that has made no call is answered. */
    public void release() {
        leave(false);
        done();
    }

    /** Looks whether the results that are kept in it leave room for others. */
    void measure() {
        synchronized (this) {
            if (kept.isEmpty()) {
                full = false;
                return;
            }
        }
        boolean crowded = session.crowded();
        synchronized (this) {
            full = crowded && !kept.isEmpty();
        }
    }

    /** The connection of a request has ended, and nobody comes back for it. */
    void done() {
        if (use == Use.ONCE) {
            end();
        }
    }

    /** Somebody reads what comes in it, until {@link #unlisten}. */
    synchronized void listen() {
        listening++;
    }

    void unlisten() {
        synchronized (this) {
            listening--;
            since = engine.clock().getAsLong();
        }
        endIfRetired();
    }

    /** Somebody may come back within this time for the call of a stream. */
    void keep(String nonce, Duration ttl, StreamId stream) {
        // that of a single call ends by itself, and so does one that is used elsewhere
        if (use == Use.IN_TURN || use == Use.SHARED) {
            Future<?> end = engine.scheduler().schedule(() -> forget(nonce, stream), ttl.toMillis(), MILLISECONDS);
            synchronized (this) {
                kept.put(nonce, end);
            }
        }
    }

    /** Somebody has come back for a call, and has the rest of it here. */
    void unkeep(String nonce) {
        synchronized (this) {
            Future<?> end = kept.remove(nonce);
            if (end != null) {
                end.cancel(false);
            }
        }
        measure();
        endIfRetired();
    }

    /** The session forgets what is kept of a stream: it is told that its reader has everything. */
    private void forget(String nonce, StreamId stream) {
        session.kept(stream)
                .thenCompose(found -> found.map(KeptStream::events)
                        .filter(events -> !events.isEmpty())
                        .map(events -> events.get(events.size() - 1))
                        .map(last -> session.resume(new EventId(stream, last.epoch(), last.offset())))
                        .orElse(CompletableFuture.completedFuture(new Resume.Unknown())))
                .thenAccept(resume -> resume.attached().ifPresent(Carrier::readAll))
                .whenComplete((done, failure) -> {
                    logged("relieved of a call", failure);
                    unkeep(nonce);
                });
    }

    private static void readAll(StreamReader reader) {
        StreamReader.Next next;
        do {
            next = reader.read(READ_BYTES);
        } while (next instanceof StreamReader.Events);
        reader.close(StreamReader.Close.IN_ORDER);
    }

    /** Its session has ended, or is another now. */
    void gone() {
        synchronized (this) {
            ended = true;
            kept.values().forEach(end -> end.cancel(false));
            kept.clear();
        }
    }

    private synchronized boolean isUnused() {
        return running == 0 && listening == 0 && kept.isEmpty() && !ended;
    }

    /** Ends it if it is retired, and nobody uses it. */
    void endIfRetired() {
        boolean ends;
        synchronized (this) {
            ends = retired && isUnused();
        }
        if (ends) {
            end();
        }
    }

    /** Whether it carries nothing new: it has ended, or its session has, or it is retired now since nobody has used it for so long. */
    boolean isOver(Duration idle) {
        if (session.state() == SessionState.CLOSED) {
            gone();
        }
        synchronized (this) {
            boolean unused = isUnused() && engine.clock().getAsLong() - since >= idle.toNanos();
            retired |= unused;
            return ended || unused;
        }
    }

    private void end() {
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = true;
        }
        session.terminate().whenComplete((done, failure) -> logged("ended", failure));
    }

    /**
     * What its backend sends outside of calls; empty where nobody can read that now. While that is read, the questions of its calls may
     * come there too: one that carries calls which may ask carries none after this.
     */
    synchronized CompletionStage<Optional<Feed>> feed() {
        retired |= use == Use.IN_TURN;
        CompletionStage<Optional<Feed>> there = feed;
        if (there != null) {
            return there;
        }
        Feed begun = new Feed(this, engine.clock());
        CompletionStage<Optional<Feed>> reading =
                begun.begin().thenApply(reads -> reads ? Optional.of(begun) : Optional.empty());
        feed = reading;
        reading.whenComplete((read, failure) -> {
            if (failure != null || read.isEmpty()) {
                forget(reading);
            }
        });
        return reading;
    }

    /** Answers what its backend has asked outside of calls, where nobody reads that: it would wait for ever. */
    void declineUnread() {
        synchronized (this) {
            if (feed != null || ended) {
                return;
            }
        }
        session.kept(StreamId.LISTENING)
                .thenAccept(found -> found.map(KeptStream::events).orElse(List.of()).stream()
                        .flatMap(event -> Question.answerOutsideOfCalls(event).stream())
                        .forEach(this::answer))
                .whenComplete((done, failure) -> logged("asked for what was asked outside of calls", failure));
    }

    private synchronized void forget(CompletionStage<Optional<Feed>> failed) {
        feed = feed == failed ? null : feed;
    }

    /** Gives an answer to its backend. */
    void answer(InboundMessage answer) {
        answered(session, answer).whenComplete((taken, failure) -> logged("given an answer", failure));
    }

    /**
     * Gives an answer to the backend of a session. Completes when it is taken, or its handler has run for a moment with it: where handlers
     * run on the thread that brings the answer, the one that has waited for it may go on there for long.
     */
    CompletionStage<Boolean> answered(Session asking, InboundMessage answer) {
        CompletableFuture<Boolean> taken = new CompletableFuture<>();
        Supplier<CompletionStage<Boolean>> giving = () -> {
            Future<?> moment = engine.scheduler().schedule(() -> taken.complete(true), MOMENT_MILLIS, MILLISECONDS);
            try {
                return asking.answer(answer);
            } finally {
                moment.cancel(false);
            }
        };
        CompletableFuture.supplyAsync(giving, answering)
                .thenCompose(Function.identity())
                .whenComplete((given, failure) -> {
                    if (failure == null) {
                        taken.complete(given);
                    } else {
                        taken.completeExceptionally(failure);
                    }
                });
        return taken;
    }

    /** Asks the backend something about a resource, for no client; completes with whether it has answered with a result. */
    CompletionStage<Boolean> ask(String method, String uri) {
        RequestId id = new RequestId(Long.toString(lastId.incrementAndGet()));
        byte[] body = JsonRpc.request(id, method, "{\"uri\":" + JsonParts.quoted(uri) + "}");
        JournalChange change = method.equals("resources/subscribe")
                ? new JournalChange.Put("resources/subscribe:" + uri)
                : new JournalChange.Remove("resources/subscribe:" + uri);
        InboundMessage request =
                new InboundMessage(InboundMessage.Kind.REQUEST, id, method, body, change, InboundMessage.NO_CONTEXT);
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
            StreamReader.Next next = closed ? StreamReader.Rest.REST : reader.read(READ_BYTES);
            while (next instanceof StreamReader.Events events) {
                for (Event event : events.events()) {
                    if (EventKind.answers(event.kind())) {
                        given.complete(event.kind() == EventKind.RESPONSE);
                    }
                }
                next = reader.read(READ_BYTES);
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
    void giveUp(RequestId call) {
        giveUp(session, call).whenComplete((done, failure) -> logged("told of a cancellation", failure));
    }

    /** Gives up a call of a session, which is this carrier's; completes when whoever runs it knows. */
    CompletionStage<Void> giveUp(Session running, RequestId call) {
        byte[] cancelled = JsonRpc.MESSAGES
                .cancelled(call, "its client does not want it any more")
                .bytes();
        return running.cancel(call, JsonRpc.MESSAGES.read(cancelled));
    }

    /** What is done beside a request fails without it. */
    static void logged(String what, @Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("a carrier could not be {}", what, failure);
        }
    }
}

package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session's connection to its child. Messages pass as the bytes they are; only the ids of the child's own requests are replaced, and
 * restored in the client's answers, and those ids and progress tokens of the client's that the child would not tell from others, or not
 * give back as they are ({@link ServerIds}).
 *
 * <p>Each message of the child has one stream that it belongs on. A response goes to its call, progress to the call of its token, if that
 * runs or has become a task. Notifications that lists or resources have changed go to the listening stream, and so do requests while the
 * client listens. Nothing in any other message says to which call it belongs: it goes to the only running call, unless the child may still
 * run one that was cancelled, else to the listening stream if its client listens or may be on its way back, else to the newest running
 * call, else to the listening stream's log. While a client is on its way back, it may not know the stream of a call, for the head of the
 * response may have been lost.
 *
 * <p>The child is read no further while too much of what it has sent waits for the store. Its lock is never held while a sink or the
 * engine is called. Thread-safe.
 */
final class StdioConnection implements BackendConnection, Child.Listener, OpenQuestions.Server {
    /** How long a call that was cancelled counts as one that may still send something. */
    private static final long CANCELLED_RUNS_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final Logger log = LoggerFactory.getLogger(StdioConnection.class);

    private final Child child;
    private final ListeningSink listening;
    private final StdioBackend.Opening opening;
    private final EnvelopeReader envelopes;
    private final OpenQuestions questions;

    private final ServerIds ids = new ServerIds();
    /** The calls that run, oldest first, by the ids that the child knows. */
    private final Map<RequestId, Running> calls = new LinkedHashMap<>(4);
    /** Those of them that want progress, by the tokens that the child knows. */
    private final Map<RequestId, Running> tokens = new HashMap<>(4);

    /** Those that were cancelled, and have not been answered since: most servers answer none. */
    private final Set<RequestId> cancelledIds = Collections.newSetFromMap(recent());

    private final Set<RequestId> cancelledTokens = Collections.newSetFromMap(recent());
    /** When the newest of them was cancelled. */
    private long cancelledAt;
    /** The client's tokens of tasks, by the child's. */
    private final Map<RequestId, RequestId> taskTokens = recent();

    /** How many bytes of the child's messages may wait for the store, and do. */
    private final long mostUncommitted;

    private long uncommitted;

    private final String pingPrefix;
    private int pings;
    /** The ping that has no answer, and when that comes too late. */
    private Optional<RequestId> ping = Optional.empty();

    private @Nullable Future<?> pingDeadline;
    /** Whether nobody wants anything of the child any more. */
    private boolean closed;

    private volatile Optional<String> death = Optional.empty();

    /**
     * What has to be known of a call, and no more: its request may be large.
     *
     * @param id the client's id
     * @param token the client's progress token
     * @param names what the child knows it by
     * @param carries whether its stream can take a message that names no call
     * @param task whether its progress goes on after its response
     */
    private record Running(
            RequestId id,
            Optional<RequestId> token,
            ServerIds.Names names,
            boolean carries,
            boolean task,
            CallSink sink) {}

    /**
     * A connection to a child that nobody listens to yet.
     *
     * @param incarnation makes the ids of the child's requests, and of pings, different from those of any other child of the session
     * @param opening is told if the child dies before that has ended
     */
    StdioConnection(
            Child child,
            String incarnation,
            ListeningSink listening,
            StdioBackend.Opening opening,
            EnvelopeReader envelopes) {
        this.child = child;
        this.listening = listening;
        this.opening = opening;
        this.envelopes = envelopes;
        this.mostUncommitted = child.options().uncommittedBytes();
        this.questions = new OpenQuestions(incarnation, listening, this);
        this.pingPrefix = "holdfast-ping-" + incarnation + "-";
    }

    /** A map that forgets what was added first. */
    private static <V> Map<RequestId, V> recent() {
        return new LinkedHashMap<>(0) {
            private static final int MOST = 256;

            @Override
            protected boolean removeEldestEntry(Map.Entry<RequestId, V> eldest) {
                return size() > MOST;
            }
        };
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        if (death.isPresent()) {
            listening.lost(death.get(), List.of(request));
        } else {
            // what goes into the journal only sets something, and causes no message; nor has initialize a stream
            boolean carries = request.journal() instanceof JournalChange.None
                    && !request.method().equals("initialize");
            begin(request, carries, sink);
        }
    }

    /** Nobody reads the stream of a request that is replayed. */
    @Override
    public void replay(InboundMessage request, CallSink sink) {
        if (death.isPresent()) {
            // an error would say that no server process can go on with the session; that this one is dead ends its
            // replay
            listening.lost(death.get());
        } else {
            begin(request, false, sink);
        }
    }

    private void begin(InboundMessage request, boolean carries, CallSink sink) {
        Envelope message = envelopes.message(request);
        Running call;
        synchronized (this) {
            // what comes late for a call that was cancelled must not be taken for that of a later one
            ServerIds.Names names =
                    ids.names(message, id -> calls.containsKey(id) || cancelledIds.contains(id), this::isTokenInUse);
            call = new Running(
                    request.requiredId(), message.progressToken(), names, carries, message.asksForTask(), sink);
            calls.put(names.id(), call);
            names.token().ifPresent(token -> tokens.put(token, call));
        }
        byte[] line = call.names.of(message).onOneLine();
        // before the child has the request: whoever leaves by what it sends for that may close it right after
        sink.onCancel(notification -> cancel(call, notification));
        synchronized (this) {
            if (call.equals(calls.get(call.names.id()))) {
                child.write(line);
            }
        }
    }

    private boolean isTokenInUse(RequestId token) {
        return tokens.containsKey(token) || cancelledTokens.contains(token) || taskTokens.containsKey(token);
    }

    /** Forgets a call whose answer nobody waits for, and what still comes for its progress token, unless it has ended. */
    private void cancel(Running call, Optional<InboundMessage> notification) {
        RequestId theirs = call.names.id();
        synchronized (this) {
            if (!call.equals(calls.get(theirs))) {
                return;
            }
            remove(theirs);
            cancelledIds.add(theirs);
            cancelledAt = System.nanoTime();
            call.names.token().ifPresent(cancelledTokens::add);
        }
        child.write(notification
                .map(told -> cancelling(theirs, envelopes.message(told)))
                .orElseGet(() -> JsonRpc.MESSAGES.cancelled(theirs, "cancelled").bytes()));
        questions.ended(call.sink);
        if (notification.isEmpty()) {
            // it was not the client that gave up: the call ran into its time limit
            ping();
        }
    }

    /** The client's notification, with the id that the child knows. */
    private static byte[] cancelling(RequestId theirs, Envelope notification) {
        return (notification.cancelledRequest().isPresent() ? notification.withCancelledRequest(theirs) : notification)
                .onOneLine();
    }

    private @Nullable Running remove(RequestId theirs) {
        Running call = calls.remove(theirs);
        if (call != null) {
            call.names.token().ifPresent(tokens::remove);
        }
        return call;
    }

    @Override
    public void notify(InboundMessage notification) {
        child.write(envelopes.message(notification).onOneLine());
    }

    @Override
    public void answer(InboundMessage response) {
        Optional<RequestId> spelling = questions.answered(response.requiredId());
        if (spelling.isPresent()) {
            child.write(envelopes.message(response).withId(spelling.get()).onOneLine());
        } else {
            log.debug("{}: an answer that it does not wait for was dropped", child.name());
        }
    }

    @Override
    public CompletionStage<Void> close() {
        return child.close();
    }

    /**
     * Asks a child that did not answer a call in time whether it answers at all. One that does not is given up, so that the next call gets
     * another.
     */
    private synchronized void ping() {
        if (ping.isPresent()) {
            return;
        }
        RequestId id = JsonRpc.stringId(pingPrefix + ++pings);
        ping = Optional.of(id);
        child.write(JsonRpc.request(id, "ping", ""));
        Duration timeout = child.options().pingTimeout();
        pingDeadline = child.afterReading(timeout, () -> {
            if (answersPing(id)) {
                child.giveUp("the server process did not answer a ping within " + Durations.text(timeout)
                        + " after a call had taken too long");
            }
        });
    }

    /** Whether this is the id of the open ping, which is over then. */
    private synchronized boolean answersPing(RequestId id) {
        boolean open = ping.equals(Optional.of(id));
        if (open) {
            forgetPing();
        }
        return open;
    }

    private void forgetPing() {
        ping = Optional.empty();
        if (pingDeadline != null) {
            pingDeadline.cancel(false);
        }
    }

    @Override
    public void sent(int bytes, CompletionStage<Void> commit) {
        if (!commit.toCompletableFuture().isDone()) {
            count(bytes);
            commit.whenComplete((done, failure) -> count(-bytes));
        }
    }

    private synchronized void count(int bytes) {
        uncommitted += bytes;
        notifyAll();
    }

    @Override
    public synchronized boolean busy() {
        return uncommitted > mostUncommitted && !closed;
    }

    /** What a child sends before a new session is open is stored after that: it would wait for an answer that is behind it. */
    @Override
    public void awaitReady() {
        if (opening.open()) {
            child.giveUp("the server process sent more than " + mostUncommitted
                    + " bytes of other messages before it answered initialize");
        }
        synchronized (this) {
            try {
                while (busy()) {
                    wait();
                }
            } catch (InterruptedException e) {
                closed = true;
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void died(String cause) {
        death = Optional.of(cause);
        closed();
        if (!opening.fail(cause)) {
            listening.lost(cause);
        }
    }

    @Override
    public synchronized void closed() {
        forgetPing();
        closed = true;
        notifyAll();
    }

    /**
     * Passes on the messages in a line of the child. A line without JSON-RPC is dropped: calls that it was to answer end, a request is
     * refused.
     */
    @Override
    public void received(byte[] line) {
        if (death.isPresent() || line.length == 0) {
            return;
        }
        EnvelopeReader.Parsed parsed = envelopes.read(line);
        if (parsed instanceof EnvelopeReader.Single single) {
            route(single.message());
        } else if (parsed instanceof EnvelopeReader.Batch batch) {
            batch.messages().forEach(this::route);
        } else if (parsed instanceof EnvelopeReader.Malformed malformed) {
            child.lines()
                    .write(more -> log.warn(
                            "{}: a line was dropped, {}: {}{}",
                            child.name(),
                            malformed.message(),
                            LogText.of(line),
                            more));
            envelopes.answered(line).forEach(id -> misanswered(id, malformed.message()));
            envelopes
                    .asked(line)
                    .ifPresent(id -> refuse(JsonRpc.MESSAGES.error(id, malformed.code(), malformed.message())));
        }
    }

    private void route(Envelope message) {
        switch (message.kind()) {
            case RESPONSE, ERROR -> responded(message);
            case REQUEST -> questions.ask(message, listening.attached() ? Optional.empty() : unattributed());
            case NOTIFICATION -> notified(message);
        }
    }

    /**
     * The call on whose stream to send what names no call; empty for the listening stream. It is the only running call; of several, those
     * included that were cancelled a moment ago and have not answered, the newest that is wanted, unless a client that listens gets all of
     * the listening stream.
     */
    private Optional<CallSink> unattributed() {
        List<CallSink> open;
        boolean others;
        synchronized (this) {
            others = !cancelledIds.isEmpty() && System.nanoTime() - cancelledAt < CANCELLED_RUNS_NANOS;
            open = calls.values().stream()
                    .filter(Running::carries)
                    .map(Running::sink)
                    .toList();
        }
        boolean listens = open.isEmpty() || ((others || open.size() > 1) && listening.followed());
        return listens ? Optional.empty() : Optional.of(open.get(open.size() - 1));
    }

    private void responded(Envelope message) {
        Optional<Running> call = message.id().flatMap(this::ended);
        if (call.isPresent()) {
            end(call.get(), message.withId(call.get().id).outbound());
        } else if (message.id().filter(this::answersPing).isEmpty()) {
            strayed(message);
        }
    }

    /** Takes the call that a response ends. */
    private synchronized Optional<Running> ended(RequestId theirs) {
        Running call = remove(theirs);
        if (call != null && call.task) {
            call.names.token().ifPresent(token -> taskTokens.put(token, call.token.orElse(token)));
        }
        return Optional.ofNullable(call);
    }

    private void end(Running call, OutboundMessage answer) {
        sent(answer.bytes().length, call.sink.send(answer));
        questions.ended(call.sink);
    }

    /** Ends a call with an error: it would wait for ever for another answer. */
    private void misanswered(RequestId theirs, String fault) {
        Optional<Running> call = ended(theirs);
        if (call.isPresent()) {
            String cause = "the server process sent an answer that is not JSON-RPC: " + fault;
            end(call.get(), JsonRpc.MESSAGES.error(call.get().id, JsonRpc.SERVER_ERROR, cause));
        } else if (!answersPing(theirs)) {
            log.debug("{}: nobody waits for it", child.name());
        }
    }

    /** An answer to a call that is over is nothing unusual; while others run, it may be one of theirs whose id the child has changed. */
    private void strayed(Envelope message) {
        boolean expected;
        synchronized (this) {
            boolean late = message.id().filter(cancelledIds::remove).isPresent();
            expected = late || calls.isEmpty();
        }
        if (expected) {
            log.debug("{}: nobody waits for it, dropped: {}", child.name(), message);
        } else {
            child.lines()
                    .write(more -> log.warn(
                            "{}: an answer that no running call waits for was dropped: {}{}",
                            child.name(),
                            message,
                            more));
        }
    }

    private void notified(Envelope message) {
        String method = message.method();
        if (method.equals("notifications/progress")) {
            progress(message);
        } else if (method.equals("notifications/cancelled")) {
            if (questions.withdraw(message).isEmpty()) {
                log.debug("{}: it gives up what is not open, dropped: {}", child.name(), message);
            }
        } else if (method.endsWith("/list_changed") || method.equals("notifications/resources/updated")) {
            send(Optional.empty(), message);
        } else {
            send(unattributed(), message);
        }
    }

    private void progress(Envelope message) {
        Optional<RequestId> theirs = message.progressToken();
        Optional<Running> call;
        Optional<RequestId> task;
        synchronized (this) {
            call = theirs.map(tokens::get);
            task = theirs.map(taskTokens::get);
        }
        if (call.isPresent()) {
            RequestId token = call.get().token.or(() -> theirs).orElseThrow();
            send(Optional.of(call.get().sink), message.withProgressToken(token));
        } else if (task.isPresent()) {
            send(unattributed(), message.withProgressToken(task.get()));
        } else {
            log.debug("{}: no running call asked for it, dropped: {}", child.name(), message);
            listening.unsolicited();
        }
    }

    private void send(Optional<CallSink> call, Envelope message) {
        OutboundMessage outbound = message.outbound();
        sent(message.bytes().length, call.isPresent() ? call.get().send(outbound) : listening.send(outbound));
    }

    @Override
    public void refuse(OutboundMessage error) {
        child.write(error.bytes());
    }

    @Override
    public synchronized boolean runs(CallSink call) {
        return calls.values().stream().anyMatch(running -> running.sink == call);
    }
}

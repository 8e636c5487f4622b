package dev.holdfast.json;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.Collections;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A backend whose tools say themselves which of their calls may be run again, by {@link RepeatRules}: it learns from the
 * {@code tools/list} results that pass through it. Where no list is known to its end for a principal, because the results passed
 * through an earlier process, it asks for the list itself, on a connection that {@linkplain Backend.OpenRequest#restores restores} a
 * session: up to 100 pages within ten seconds, under ids of its own, by {@link BackendConnection#replay}. It asks
 * after a call of the client was handed over, so the question stands behind the journal of the session and behind that call, and a
 * session that only listens asks nothing. A question without an answer in time is asked again with a later call, three times for a
 * connection at most. A backend that declares no tools is not asked, nor is one that {@linkplain Backend#executesImmediately
 * executes immediately}, whose calls are never run again. No call is held back for it: those that start before the answer are not
 * run again.
 */
public final class HintedBackend implements Backend {
    private static final Duration LIST_TIMEOUT = Duration.ofSeconds(10);
    private static final int MOST_QUESTIONS = 3;
    private static final int MOST_PAGES = 100;
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final Backend backend;
    private final Duration timeout;
    private volatile RepeatRules rules = new RepeatRules();
    /** Those of servers before, for as long as there are connections to them. */
    private final Set<RepeatRules> before = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    /** The principals for whom a list is on its way: many sessions are restored at once, and one answer is enough. */
    private final Set<String> asking = ConcurrentHashMap.newKeySet();

    /** The same backend, with what its tools say of themselves. */
    public HintedBackend(Backend backend) {
        this(backend, LIST_TIMEOUT);
    }

    /** Gives up the lists that it asks for itself after another time. */
    HintedBackend(Backend backend, Duration timeout) {
        this.backend = Objects.requireNonNull(backend, "backend");
        this.timeout = timeout;
    }

    /**
     * Connections are opened to another server from now on, whose tools are not known yet. As long as there are connections to one before,
     * a call may be run again only if the tools of both say so: it may be for either.
     */
    public void renew() {
        before.add(rules);
        rules = new RepeatRules();
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        RepeatRules taught = rules;
        return backend.open(request, sink)
                .thenApply(outcome -> outcome instanceof Opened opened
                        ? new Opened(
                                new Listening(opened, request, sink, taught),
                                opened.response(),
                                opened.revision(),
                                opened.sessionId())
                        : outcome);
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        if (!rules.harmless(principal, request)) {
            return false;
        }
        synchronized (before) {
            return before.stream().allMatch(old -> old.harmless(principal, request));
        }
    }

    @Override
    public boolean executesImmediately() {
        return backend.executesImmediately();
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

    @Override
    public boolean existsOnce() {
        return backend.existsOnce();
    }

    /** A connection on which lists of tools are overheard, and asked for where none is known; everything else passes by. */
    private final class Listening implements BackendConnection {
        private final BackendConnection connection;
        private final String principal;
        private final String incarnation;
        private final ListeningSink listening;
        /** What its server teaches: a later one has rules of its own. */
        private final RepeatRules taught;
        /** How many questions may still be asked. */
        private final AtomicInteger left;

        private volatile @Nullable ToolQuestion latest;

        private Listening(Opened opened, OpenRequest request, ListeningSink listening, RepeatRules taught) {
            this.taught = taught;
            this.connection = opened.connection();
            this.principal = request.principal();
            this.incarnation = request.incarnation();
            this.listening = listening;
            // the client of a new session will list the tools itself
            boolean asks = request.restores()
                    && !executesImmediately()
                    && JsonPeek.isObject(opened.response().bytes(), "result", "capabilities", "tools");
            this.left = new AtomicInteger(asks ? MOST_QUESTIONS : 0);
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            if (request.method().equals(RepeatRules.TOOLS_LIST)) {
                connection.call(request, new Overheard(sink, taught, principal));
                return;
            }
            connection.call(request, sink);
            // not earlier: on a server that works one request at a time, journal and call would wait for the list
            if (left.get() > 0 && !taught.knows(principal) && asking.add(principal)) {
                ask();
            }
        }

        private void ask() {
            ToolQuestion asked = new ToolQuestion(
                    connection, taught, principal, incarnation + "-" + left.getAndDecrement(), listening.sessionId());
            latest = asked;
            asked.over.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS).whenComplete((done, late) -> {
                if (late == null) {
                    left.set(0);
                }
                asking.remove(principal);
                if (late != null) {
                    asked.withdraw();
                }
            });
            asked.ask(1, "");
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
            ToolQuestion asked = latest;
            if (asked != null) {
                asked.end();
            }
            return connection.close();
        }
    }

    /** The way back of one list: it is learned before its client can act on it. */
    private static final class Overheard implements CallSink {
        private final CallSink sink;
        private final RepeatRules taught;
        private final String principal;

        private Overheard(CallSink sink, RepeatRules taught, String principal) {
            this.sink = sink;
            this.taught = taught;
            this.principal = principal;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (message.kind() == EventKind.RESPONSE) {
                taught.learn(principal, message.bytes());
            }
            return sink.send(message);
        }

        @Override
        public void onCancel(CancelHook hook) {
            sink.onCancel(hook);
        }

        @Override
        public void disconnect(Duration retry) {
            sink.disconnect(retry);
        }

        @Override
        public String sessionId() {
            return sink.sessionId();
        }
    }

    /**
     * Asks a server for its tools, page after page, on nobody's behalf: the client sees neither the question nor the answer. It ends with
     * the last page, with an error, with its connection, or when its time is over.
     */
    private static final class ToolQuestion {
        private final BackendConnection connection;
        private final RepeatRules taught;
        private final String principal;
        private final String prefix;
        private final String sessionId;
        private final CompletableFuture<Void> over = new CompletableFuture<>();
        private volatile @Nullable Page last;

        /**
         * @param name makes its ids different from those of other questions, on this connection and others
         */
        private ToolQuestion(
                BackendConnection connection, RepeatRules taught, String principal, String name, String sessionId) {
            this.connection = connection;
            this.taught = taught;
            this.principal = principal;
            this.prefix = "holdfast-tools-" + name + "-";
            this.sessionId = sessionId;
        }

        private void end() {
            over.complete(null);
        }

        /** Tells the server that nobody waits for the answer any more. */
        private void withdraw() {
            Page page = last;
            if (page != null) {
                page.cancel();
            }
        }

        private void ask(int number, String params) {
            Page page = new Page(this, number);
            last = page;
            InboundMessage request = new InboundMessage(
                    InboundMessage.Kind.REQUEST,
                    page.id,
                    RepeatRules.TOOLS_LIST,
                    JsonRpc.request(page.id, RepeatRules.TOOLS_LIST, params),
                    JournalChange.NONE,
                    InboundMessage.NO_CONTEXT);
            try {
                // like a replay: what comes before the answer is for nobody
                connection.replay(request, page);
            } catch (RuntimeException e) {
                // whatever is wrong with it, the calls of its client will tell
                end();
            }
        }

        private void answered(int number, OutboundMessage message) {
            Optional<String> cursor = Optional.empty();
            if (message.kind() == EventKind.RESPONSE) {
                taught.learn(principal, message.bytes());
                cursor = JsonPeek.string(message.bytes(), "result", "nextCursor");
            }
            if (cursor.isEmpty() || number == MOST_PAGES || over.isDone()) {
                end();
            } else {
                ask(number + 1, "{\"cursor\":" + JsonText.quoted(cursor.get()) + "}");
            }
        }
    }

    /** Takes one page of the answer to a question. */
    private static final class Page implements CallSink {
        private final ToolQuestion question;
        private final int number;
        private final RequestId id;
        private final AtomicBoolean answered = new AtomicBoolean();
        private final AtomicReference<@Nullable CancelHook> hook = new AtomicReference<>();

        private Page(ToolQuestion question, int number) {
            this.question = question;
            this.number = number;
            this.id = JsonRpc.stringId(question.prefix + number);
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (EventKind.answers(message.kind()) && answered.compareAndSet(false, true)) {
                question.answered(number, message);
            }
            return DONE;
        }

        @Override
        public void onCancel(CancelHook next) {
            hook.set(next);
            if (question.over.isCompletedExceptionally()) {
                cancel();
            }
        }

        /** Says why: a backend takes a cancellation without a word for a call that has run into its time limit. */
        private void cancel() {
            CancelHook told = hook.getAndSet(null);
            if (told != null && !answered.get()) {
                told.cancelled(Optional.of(JsonRpc.MESSAGES.read(
                        JsonRpc.MESSAGES.cancelled(id, "it took too long").bytes())));
            }
        }

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return question.sessionId;
        }
    }
}

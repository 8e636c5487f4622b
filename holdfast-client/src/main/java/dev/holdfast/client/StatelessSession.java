package dev.holdfast.client;

import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.ModernClient;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.json.ToolHeaders;
import dev.holdfast.spi.RequestId;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What is a session to its client, at a server of 2026-07-28 that has none and knows nothing but requests: each says who its client
 * is. What the client sets is kept here, and goes along. It cannot be lost.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http">MCP 2026-07-28,
 *     Streamable HTTP</a>
 */
final class StatelessSession extends ServerSession {
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final String LISTEN = "subscriptions/listen";
    private static final Set<String> LEVELS =
            Set.of("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency");
    /** The lists of which a server may tell that they have changed. */
    private static final List<String> LISTS = List.of("tools", "prompts", "resources");

    private static final String ACCEPTED = "\"result\":{}";

    /** How long after the end of a stream of changes there is another: longer each time, up to a minute, while none lasts. */
    private static final long FIRST_PAUSE_MILLIS = 1_000;

    private static final long LASTS_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** By which status or code a server says that it tells of no changes: it is asked again much later. */
    private static final Set<Integer> NOT_OFFERED = Set.of(404, 405, 501);

    private static final Set<String> NO_SUCH_METHOD = Set.of("-32601", "-32602");
    private static final long NOT_OFFERED_MILLIS = TimeUnit.MINUTES.toMillis(10);

    private static final int MOST_DOUBLINGS = 6;
    private static final long CLOSING_MILLIS = 5_000;

    private final Envelope initialize;
    private final ModernClient client;
    private final ToolHeaders tools = new ToolHeaders();
    private final AtomicLong ids = new AtomicLong();
    /** By the ids that our caller has given them. */
    private final Map<RequestId, StatelessCall> calls = new ConcurrentHashMap<>();
    /** Who has asked what the client has not answered. */
    private final Map<RequestId, StatelessCall> questions = new ConcurrentHashMap<>();

    private final Feed feed = new Feed();
    private volatile Optional<String> logLevel = Optional.empty();
    /** What the newest message of the client brought along: requests of our own get it too. */
    private volatile Object latestContext = NO_CONTEXT;

    /**
     * A session that was not opened yet.
     *
     * @param initialize what its client has said of itself
     * @param listening takes what belongs to no request
     */
    StatelessSession(RemoteServer server, Envelope initialize, MessageSink listening, SessionWatch watch) {
        // a stream of this revision is not resumed, whatever ids a server gives
        super(server.withLimits(server.limits().withResumable(false)), listening, watch);
        this.initialize = initialize;
        this.client = ModernClient.of(initialize);
        negotiated(ModernClient.REVISION);
    }

    /** Whether an error for {@code initialize} may be that of a server which knows only revisions without it. */
    static boolean mayBeModern(Envelope error) {
        return JsonParts.raw(error.bytes(), "error", "code")
                .filter(code -> code.matches("-3202[012]|-3260[12]"))
                .isPresent();
    }

    /**
     * Asks the server what it is.
     *
     * @param sink gets the answer to {@code initialize} that is made of that
     * @return false if it is none of 2026-07-28
     */
    CompletionStage<Boolean> open(Object context, MessageSink sink) {
        remember(context);
        AtomicReference<@Nullable Envelope> answer = new AtomicReference<>();
        RequestId id = initialize.id().orElseThrow();
        Envelope discover = request("server/discover", Map.of());
        return call(server.uri(), discover, Repeat.HARMLESS, context, new ToldProgress(), part -> {
                    if (part.kind() == Envelope.Kind.RESPONSE) {
                        answer.set(client.initialized(id, part.bytes()).orElse(null));
                        feed.begin(part.bytes());
                    }
                    return DONE;
                })
                .thenCompose(outcome -> {
                    Envelope initialized = answer.get();
                    if (initialized == null) {
                        return CompletableFuture.completedFuture(false);
                    }
                    listen(context);
                    return MessageBodies.handOver(initialized, sink).handle((taken, failure) -> failure == null);
                });
    }

    private void remember(Object context) {
        if (context != NO_CONTEXT) {
            latestContext = context;
        }
    }

    RequestId nextId() {
        return JsonRpc.stringId("holdfast-" + ids.incrementAndGet());
    }

    /** A request of the client's to the server, under an id that none had before. */
    Envelope request(String method, Map<String, String> params) {
        return client.request(nextId(), method, params, logLevel);
    }

    /** The same of a request that the client has sent, with these parameters beside. */
    Envelope request(Envelope sent, Map<String, String> more) {
        return client.request(nextId(), sent, more, logLevel);
    }

    /** Sends a request of our own. */
    CompletionStage<Outcome> call(Envelope request, Repeat repeat, MessageSink sink) {
        return call(server.uri(), request, repeat, latestContext, new ToldProgress(), sink);
    }

    /** A request was answered. */
    void learn(Envelope request, Envelope response) {
        if (request.method().equals(RepeatRules.TOOLS_LIST) && response.kind() == Envelope.Kind.RESPONSE) {
            tools.learn(response.bytes());
        }
    }

    @Override
    Map<String, String> repeated(Envelope message) {
        return ModernClient.headers(message, tools);
    }

    /** A stream of changes may be silent for longer than that of a call. */
    @Override
    HttpExchange answering(HttpRequest request, StreamHandler handler) {
        boolean listens = request.headers()
                .firstValue("Mcp-Method")
                .filter(LISTEN::equals)
                .isPresent();
        return listens ? listening(request, handler) : super.answering(request, handler);
    }

    @Override
    public CompletionStage<Outcome> call(
            Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink) {
        remember(context);
        return switch (request.method()) {
            case "ping" -> answered(request, ACCEPTED, sink);
            case "logging/setLevel" -> level(request, sink);
            case "resources/subscribe", "resources/unsubscribe" -> feed.change(request, sink);
            default -> begun(new StatelessCall(this, request, repeat, context, told, sink), request);
        };
    }

    private CompletionStage<Outcome> begun(StatelessCall call, Envelope request) {
        calls.put(request.id().orElseThrow(), call);
        if (closed()) {
            call.close();
        }
        return call.begin();
    }

    private CompletionStage<Outcome> level(Envelope request, MessageSink sink) {
        Optional<String> level = JsonParts.string(request.bytes(), "params", "level");
        if (level.filter(LEVELS::contains).isEmpty()) {
            String why = "level must be one of the levels of RFC 5424, such as \"info\"";
            return answered(request, error(JsonRpc.INVALID_PARAMS, why), sink);
        }
        logLevel = level;
        return answered(request, ACCEPTED, sink);
    }

    private static boolean saysNoSuchMethod(Envelope answer) {
        return answer.kind() == Envelope.Kind.ERROR
                && AnswerFacts.ofError(answer.bytes())
                        .code()
                        .filter(NO_SUCH_METHOD::contains)
                        .isPresent();
    }

    /** The member that answers a request with an error. */
    private static String error(int code, String message) {
        return "\"error\":{\"code\":" + code + ",\"message\":" + JsonParts.quoted(message) + "}";
    }

    private static CompletionStage<Outcome> answered(Envelope request, String member, MessageSink sink) {
        Envelope answer =
                JsonParts.message("\"id\":" + request.id().orElseThrow().token() + "," + member);
        return MessageBodies.handOver(answer, sink)
                .handle((taken, failure) -> failure == null
                        ? new Outcome.Done()
                        : new Outcome.Unreadable("the response was not taken: " + failure));
    }

    /** A call is over. */
    void over(RequestId id, StatelessCall call) {
        calls.remove(id, call);
    }

    /** A call asks the client. */
    void asks(RequestId question, StatelessCall call) {
        questions.put(question, call);
    }

    void withdrawn(RequestId question) {
        questions.remove(question);
    }

    /** Answers go to who has asked; the server hears of nothing else that is no request. */
    @Override
    public CompletionStage<Outcome> post(Envelope message, Object context) {
        remember(context);
        if (MessageBodies.isResponse(message)) {
            message.id()
                    .ifPresent(id ->
                            Optional.ofNullable(questions.remove(id)).ifPresent(call -> call.answered(id, message)));
        } else {
            message.cancelledRequest().ifPresent(id -> {
                Optional.ofNullable(calls.get(id)).ifPresent(StatelessCall::cancel);
                feed.cancel(id);
            });
        }
        return CompletableFuture.completedFuture(new Outcome.Done());
    }

    @Override
    boolean endsCancelled() {
        return false;
    }

    @Override
    public void listen(Object context) {
        remember(context);
        feed.openAgain();
    }

    @Override
    void stopListening() {
        // its requests are among those that end
    }

    @Override
    public Optional<String> id() {
        return Optional.empty();
    }

    @Override
    void reached() {
        // each request stands for itself
    }

    @Override
    boolean answersLater(int status) {
        return false;
    }

    @Override
    boolean answersOnOneStream() {
        return false;
    }

    @Override
    boolean opensAnew() {
        return false;
    }

    @Override
    void lost(Loss loss) {
        // it has no stream of its own
    }

    @Override
    public Set<String> subscribed() {
        return feed.subscribed();
    }

    /** A task that nobody wants goes on at the server until it hears that. */
    @Override
    boolean outlasts(Envelope message) {
        return message.method().equals(StatelessCall.TASK_CANCEL);
    }

    @Override
    public CompletionStage<Void> close() {
        end();
        calls.values().forEach(StatelessCall::close);
        feed.close();
        return lasting(CLOSING_MILLIS);
    }

    /**
     * What the client hears beside its requests: that lists have changed, of which the server tells that, and the resources that it has
     * subscribed to. There is a stream for it as long as there is any of that. When it becomes more or less, there is another stream, and
     * the one before ends after that has begun.
     *
     * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions">MCP 2026-07-28,
     *     subscriptions</a>
     */
    private final class Feed {
        // guarded by this
        private String lists = "";
        /** The resources of which the server has agreed to tell. */
        private Set<String> uris = Set.of();
        /** What the server does not know yet. */
        private final List<Change> waiting = new ArrayList<>(0);

        private @Nullable Stream newest;
        /** The one that ends when that has begun. */
        private @Nullable Stream before;

        /** How many streams have not lasted, one after the other. */
        private int failures;
        /** What opens the next. */
        private Future<?> reopening = CompletableFuture.completedFuture(null);
        /** Whether there was a time without a stream. */
        private boolean missed;

        /** A subscription, or its end, until it is answered. */
        private record Change(Envelope request, MessageSink sink, CompletableFuture<Outcome> outcome) {
            private String uri() {
                return request.uri().orElse("");
            }

            private boolean adds() {
                return request.method().equals("resources/subscribe");
            }

            private void answer(String member) {
                if (!outcome.isDone()) {
                    answered(request, member, sink).thenAccept(outcome::complete);
                }
            }
        }

        /** A stream that was asked for, and what the server hears with that. */
        private final class Stream {
            private final List<Change> changes;
            private final Set<String> wanted;
            private final Envelope request;
            /** Whether the server has answered that there is no such thing. */
            private volatile boolean refused;
            // guarded by the feed
            /** When the server has begun to tell; 0 before that. */
            private long heardAt;

            private Stream(List<Change> changes, Set<String> wanted) {
                String resources = wanted.stream().map(JsonParts::quoted).collect(Collectors.joining(","));
                String wishes = "{" + lists + "\"resourceSubscriptions\":[" + resources + "]}";
                this.changes = changes;
                this.wanted = wanted;
                this.request = request(LISTEN, Map.of("notifications", wishes));
            }

            private void open() {
                call(request, Repeat.HARMLESS, this::take).thenAccept(outcome -> ended(this, outcome));
            }

            private CompletionStage<Void> take(Envelope part) {
                if (part.method().equals("notifications/subscriptions/acknowledged")) {
                    heard(this, JsonParts.strings(part.bytes(), "params", "notifications", "resourceSubscriptions"));
                    return DONE;
                }
                refused |= saysNoSuchMethod(part);
                return part.kind() == Envelope.Kind.NOTIFICATION ? message(part) : DONE;
            }

            /** Whether the server will not tell of changes the next time either: what a hop says in its place passes. */
            private boolean isRefused(Outcome.Refused how) {
                return how.error(request.id().orElseThrow())
                        .map(StatelessSession::saysNoSuchMethod)
                        .orElse(NOT_OFFERED.contains(how.status()));
            }

            private void close() {
                cancel(request.id().orElseThrow());
            }
        }

        /** What the server can tell of, as it has said. */
        synchronized void begin(byte[] discovered) {
            lists = LISTS.stream()
                    .filter(list -> JsonParts.isTrue(discovered, "result", "capabilities", list, "listChanged"))
                    .map(list -> "\"" + list + "ListChanged\":true,")
                    .collect(Collectors.joining());
        }

        private synchronized Set<String> subscribed() {
            return Set.copyOf(uris);
        }

        /** The client subscribes to a resource, or does not want that any more. */
        CompletionStage<Outcome> change(Envelope request, MessageSink sink) {
            Change change = new Change(request, sink, new CompletableFuture<>());
            boolean late;
            synchronized (this) {
                late = closed();
                if (!late) {
                    waiting.add(change);
                }
            }
            if (late) {
                change.outcome.complete(new Outcome.Closed());
            } else {
                open();
            }
            return change.outcome;
        }

        /** Nobody waits for the answer to a request any more; what it has changed stays. */
        void cancel(RequestId request) {
            changes().stream()
                    .filter(change -> change.request.id().orElseThrow().equals(request))
                    .forEach(change -> change.outcome.complete(new Outcome.Cancelled()));
        }

        /** What is under way ends. */
        void close() {
            synchronized (this) {
                reopening.cancel(false);
            }
            changes().forEach(change -> change.outcome.complete(new Outcome.Closed()));
        }

        private synchronized List<Change> changes() {
            List<Change> all = new ArrayList<>(waiting);
            if (newest != null) {
                all.addAll(newest.changes);
            }
            return all;
        }

        /** Asks for a stream, unless one is on its way. */
        void open() {
            Optional<Stream> next = Optional.empty();
            Optional<Stream> last = Optional.empty();
            List<Change> changes;
            synchronized (this) {
                if ((newest != null && newest.heardAt == 0) || closed()) {
                    return;
                }
                changes = List.copyOf(waiting);
                waiting.clear();
                Set<String> wanted = new LinkedHashSet<>(uris);
                for (Change change : changes) {
                    boolean unused = change.adds() ? wanted.add(change.uri()) : wanted.remove(change.uri());
                }
                if (lists.isEmpty() && wanted.isEmpty()) {
                    uris = wanted;
                    last = Optional.ofNullable(newest);
                    newest = null;
                } else {
                    before = newest;
                    newest = new Stream(changes, wanted);
                    next = Optional.of(newest);
                }
            }
            next.ifPresentOrElse(Stream::open, () -> changes.forEach(change -> change.answer(ACCEPTED)));
            last.ifPresent(Stream::close);
        }

        private void heard(Stream stream, List<String> agreed) {
            Optional<Stream> last = Optional.empty();
            boolean late;
            boolean more;
            synchronized (this) {
                // one that broke has come back
                late = missed || stream.heardAt != 0;
                stream.heardAt = System.nanoTime() | 1;
                missed = false;
                if (stream == newest) {
                    last = Optional.ofNullable(before);
                    before = null;
                }
                stream.changes.stream()
                        .filter(change -> change.adds() && !agreed.contains(change.uri()))
                        .forEach(change -> stream.wanted.remove(change.uri()));
                uris = stream == newest ? stream.wanted : uris;
                more = !waiting.isEmpty();
            }
            last.ifPresent(Stream::close);
            stream.changes.forEach(change -> change.answer(
                    !change.adds() || agreed.contains(change.uri())
                            ? ACCEPTED
                            : error(JsonRpc.SERVER_ERROR, "the server does not tell of changes of this resource")));
            if (late) {
                watch.gap();
            }
            if (more) {
                open();
            }
        }

        /** A stream has ended. If it was the newest, another takes its place, later and later while none lasts. */
        private void ended(Stream stream, Outcome outcome) {
            boolean unheard;
            boolean refused;
            long pause;
            synchronized (this) {
                unheard = stream.heardAt == 0;
                if (stream != newest) {
                    // it ends in order when the newest has begun
                    missed |= stream == before && newest != null && newest.heardAt == 0;
                    before = stream == before ? null : before;
                    return;
                }
                newest = before;
                before = null;
                missed |= newest == null;
                // one that was asked for more than before may be had without that
                refused = unheard
                        && stream.changes.isEmpty()
                        && (stream.refused || (outcome instanceof Outcome.Refused said && stream.isRefused(said)));
                if (!unheard && System.nanoTime() - stream.heardAt >= LASTS_NANOS) {
                    failures = 0;
                }
                pause = refused && waiting.isEmpty()
                        ? NOT_OFFERED_MILLIS
                        : FIRST_PAUSE_MILLIS << Math.min(failures++, MOST_DOUBLINGS);
            }
            if (unheard) {
                stream.changes.forEach(change -> unheard(stream, change, outcome));
                if (refused && !closed()) {
                    watch.failed(
                            new IOException("the server does not tell of changes, which it has promised: " + outcome));
                }
            }
            synchronized (this) {
                reopening.cancel(false);
                if (!closed()) {
                    reopening = later(pause, this::openAgain);
                }
            }
        }

        /** A change was not taken: the server has said so, or nobody knows. */
        private void unheard(Stream stream, Change change, Outcome outcome) {
            if (outcome instanceof Outcome.Done) {
                change.answer(error(JsonRpc.SERVER_ERROR, "the server does not tell of changes"));
            } else if (outcome instanceof Outcome.Refused refused) {
                change.outcome.complete(
                        refused.withId(stream.request, change.request.id().orElseThrow()));
            } else {
                change.outcome.complete(outcome);
            }
        }

        private void openAgain() {
            boolean needed;
            synchronized (this) {
                needed = newest == null || !waiting.isEmpty();
            }
            if (needed) {
                open();
            }
        }
    }
}

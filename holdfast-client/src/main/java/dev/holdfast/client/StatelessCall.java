package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request to a server of 2026-07-28, from its first POST to its end. What the server wants to know is asked of the client, and the
 * answers go into the next POST. A task that the server makes of it is looked at until it is over. Thread-safe; holds no thread.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr">MCP 2026-07-28, multi round-trip requests</a>
 */
final class StatelessCall {
    /** The request of revision 2025-11-25 that is answered when a task is over: what a task is gone on with in another session. */
    static final String TASK_RESULT = "tasks/result";

    static final String TASK_CANCEL = "tasks/cancel";

    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final Set<String> NO_TASK = Set.of("-32602", "-32601", "-32021");
    private static final String OTHER_HEADERS = "-32020";
    private static final int LONGEST_TASK_ID = 4_096;
    private static final int MOST_PAGES = 100;
    /** When a task is looked at, and a request without questions comes again, where the server does not say. */
    private static final long PAUSE_MILLIS = 1_000;

    private static final long LEAST_PAUSE_MILLIS = 50;
    private static final long MOST_PAUSE_MILLIS = 60_000;
    private static final int MOST_DOUBLINGS = 6;
    /** A token that has expired may be followed by another. */
    private static final int MOST_BARRED = 10;

    private static final Set<Integer> FORBIDDEN = Set.of(401, 403);

    private final StatelessSession session;
    private final Envelope request;
    private final Repeat repeat;
    private final Object context;
    private final ToldProgress told;
    private final MessageSink sink;
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();

    // guarded by this
    /** What waits for the client's answer: the server's keys by our ids. */
    private final Map<RequestId, String> open = new LinkedHashMap<>(0);
    /** The keys of all that a task has asked. */
    private final Set<String> asked = new HashSet<>(0);
    /** What the next POST has beside the parameters of the request. */
    private Map<String, String> more = Map.of();

    private Map<String, String> answers = new LinkedHashMap<>(0);
    private Optional<RequestId> posted = Optional.empty();
    private Optional<Future<?>> pause = Optional.empty();
    /** Whether the tools were listed for the headers of their calls. */
    private boolean listed;
    /** Whether another session can go on with the task. */
    private boolean kept;
    /** Whether its answer is being handed over. */
    private boolean ending;

    private boolean over;
    /** How many rounds without a question have followed each other, and how many looks that the server has barred. */
    private int rounds;

    private int barred;

    private volatile String task = "";
    private volatile long interval = PAUSE_MILLIS;
    private volatile String lastMessage = "";

    /** A request that was not sent yet; the values are those of {@link ServerSession#call}. */
    StatelessCall(
            StatelessSession session,
            Envelope request,
            Repeat repeat,
            Object context,
            ToldProgress told,
            MessageSink sink) {
        this.session = session;
        this.request = request;
        this.repeat = repeat;
        this.context = context;
        this.told = told;
        this.sink = sink;
    }

    /** Begins, and returns how it will end. */
    CompletionStage<Outcome> begin() {
        if (request.method().equals(TASK_RESULT)) {
            task = JsonParts.string(request.bytes(), "params", "taskId").orElse("");
            look();
        } else {
            send();
        }
        return outcome;
    }

    private RequestId id() {
        return request.id().orElseThrow();
    }

    private void send() {
        Envelope post;
        boolean goesOn;
        synchronized (this) {
            if (over) {
                return;
            }
            goesOn = !more.isEmpty();
            post = session.request(request, more);
            posted = post.id();
        }
        AtomicReference<@Nullable Runnable> then = new AtomicReference<>();
        session.call(session.server.uri(), post, repeat, context, told, part -> take(part, then))
                .thenAccept(guarded(how -> {
                    Runnable next = then.get();
                    if (next != null && (how instanceof Outcome.Done || isOver())) {
                        // a task of a call that was given up meanwhile is not wanted either
                        next.run();
                    } else if (how instanceof Outcome.Refused refused
                            && refused.error(id())
                                    .filter(this::wantsOtherHeaders)
                                    .isPresent()) {
                        list(Map.of(), 1);
                    } else {
                        Outcome said = how instanceof Outcome.Refused refused ? refused.withId(post, id()) : how;
                        finish(goesOn ? said.ofBegun(request) : said);
                    }
                }));
        if (isOver()) {
            // it was cancelled before the session knew of the POST
            session.cancel(post.id().orElseThrow());
        }
    }

    private synchronized boolean isOver() {
        return over || ending;
    }

    /** The same, after which the call goes on or has ended, though it throws. */
    private Consumer<Outcome> guarded(Consumer<Outcome> step) {
        return how -> {
            try {
                step.accept(how);
            } catch (RuntimeException e) {
                finish(new Outcome.Unreadable("the server's answer cannot be understood: " + e));
            }
        };
    }

    /**
     * Takes what comes on the stream of a POST.
     *
     * @param then gets what follows on a response that is not the answer, once it is taken
     */
    private CompletionStage<Void> take(Envelope part, AtomicReference<@Nullable Runnable> then) {
        if (!MessageBodies.isResponse(part)) {
            return part.kind() == Envelope.Kind.NOTIFICATION ? sink.message(part) : DONE;
        }
        byte[] bytes = part.bytes();
        switch (JsonParts.string(bytes, "result", "resultType").orElse("")) {
            case "input_required" -> then.set(() -> needs(bytes));
            case "task" -> then.set(() -> becomes(bytes));
            default -> {
                if (wantsOtherHeaders(part)) {
                    then.set(() -> list(Map.of(), 1));
                } else {
                    session.learn(request, part);
                    return answer(part.withId(id()));
                }
            }
        }
        return DONE;
    }

    /** Whether a tool wants more in the headers of its calls than is known of it. */
    private synchronized boolean wantsOtherHeaders(Envelope error) {
        boolean wants = !listed
                && error.kind() == Envelope.Kind.ERROR
                && request.method().equals("tools/call")
                && isError(error, Set.of(OTHER_HEADERS));
        listed |= wants;
        return wants;
    }

    private static boolean isError(Envelope error, Set<String> codes) {
        return error.kind() == Envelope.Kind.ERROR
                && AnswerFacts.ofError(error.bytes())
                        .code()
                        .filter(codes::contains)
                        .isPresent();
    }

    /** Learns all tools, page by page, and sends the request again. */
    private void list(Map<String, String> cursor, int page) {
        Envelope tools = session.request("tools/list", cursor);
        ask(tools, (how, answer) -> {
            Optional<String> next = answer.flatMap(listing -> {
                session.learn(tools, listing);
                return JsonParts.raw(listing.bytes(), "result", "nextCursor").filter(raw -> raw.startsWith("\""));
            });
            if (next.isPresent() && page < MOST_PAGES) {
                list(Map.of("cursor", next.get()), page + 1);
            } else {
                send();
            }
        });
    }

    /** Sends a request of our own, that does no harm. */
    private void ask(Envelope question, BiConsumer<Outcome, Optional<Envelope>> taker) {
        ask(question, Repeat.HARMLESS, taker);
    }

    /**
     * Sends a request of our own.
     *
     * @param taker gets what became of it, and its response or error
     */
    private void ask(Envelope question, Repeat again, BiConsumer<Outcome, Optional<Envelope>> taker) {
        AtomicReference<@Nullable Envelope> answer = new AtomicReference<>();
        MessageSink responses = part -> {
            answer.compareAndSet(null, MessageBodies.isResponse(part) ? part : null);
            return DONE;
        };
        session.call(question, again, responses)
                .thenAccept(guarded(how -> taker.accept(
                        how,
                        how instanceof Outcome.Refused refused
                                ? refused.error(question.id().orElseThrow())
                                : Optional.ofNullable(answer.get()))));
    }

    /** Hands the answer over; what the client was asked and has not answered is of no use any more. */
    private CompletionStage<Void> answer(Envelope answer) {
        withdraw();
        return MessageBodies.handOver(answer, sink);
    }

    private void end(String member) {
        synchronized (this) {
            if (over || ending) {
                return;
            }
            ending = true;
        }
        Envelope answer;
        try {
            answer = JsonParts.message("\"id\":" + id().token() + "," + member);
        } catch (IllegalArgumentException e) {
            finish(new Outcome.Unreadable(String.valueOf(e.getMessage())));
            return;
        }
        answer(answer)
                .whenComplete((taken, failure) -> finish(
                        failure == null
                                ? new Outcome.Done()
                                : new Outcome.Unreadable("the response was not taken: " + failure)));
    }

    private void fail(String why) {
        end("\"error\":{\"code\":" + JsonRpc.SERVER_ERROR + ",\"message\":" + JsonParts.quoted(why) + "}");
    }

    private void finish(Outcome how) {
        synchronized (this) {
            if (over) {
                return;
            }
            over = true;
            pause.ifPresent(waiting -> waiting.cancel(false));
        }
        withdraw();
        session.over(id(), this);
        outcome.complete(how);
    }

    /** It is not wanted any more: the end of its connection, or a request of its own, tells the server. */
    void cancel() {
        Optional<RequestId> post;
        synchronized (this) {
            post = posted;
        }
        finish(new Outcome.Cancelled());
        giveUpTask();
        post.ifPresent(session::cancel);
    }

    private void giveUpTask() {
        if (!task.isEmpty()) {
            ask(session.request(TASK_CANCEL, taskId()), (how, answer) -> {});
        }
    }

    /** The session is closed on this side. A task goes on without it. */
    void close() {
        finish(new Outcome.Closed());
    }

    /** The server needs answers of the client, which go into the next POST. */
    private void needs(byte[] result) {
        Map<String, String> questions = JsonParts.members(result, "result", "inputRequests");
        Optional<String> state = JsonParts.raw(result, "result", "requestState");
        long wait;
        synchronized (this) {
            posted = Optional.empty();
            wait = doubled(rounds);
            rounds = questions.isEmpty() ? rounds + 1 : 0;
            answers = new LinkedHashMap<>();
            more = state.map(it -> Map.of("requestState", it)).orElse(Map.of());
        }
        if (!questions.isEmpty()) {
            ask(questions);
        } else if (state.isPresent()) {
            later(wait, this::send);
        } else {
            abandon("the server wants input and does not say which");
        }
    }

    private void ask(Map<String, String> questions) {
        List<Envelope> messages = new ArrayList<>();
        Map<RequestId, String> keys = new LinkedHashMap<>();
        try {
            for (Map.Entry<String, String> question : questions.entrySet()) {
                byte[] what = question.getValue().getBytes(UTF_8);
                RequestId id = session.nextId();
                keys.put(id, question.getKey());
                messages.add(JsonParts.message("\"id\":" + id.token() + ",\"method\":"
                        + JsonParts.raw(what, "method").orElse("\"\"") + ",\"params\":"
                        + JsonParts.raw(what, "params").orElse("{}")));
            }
        } catch (IllegalArgumentException e) {
            abandon("the server asks what is no request: " + e.getMessage());
            return;
        }
        keys.keySet().forEach(id -> session.asks(id, this));
        boolean wanted;
        synchronized (this) {
            wanted = !over && !ending;
            if (wanted) {
                open.putAll(keys);
            }
        }
        if (!wanted) {
            keys.keySet().forEach(session::withdrawn);
            return;
        }
        messages.forEach(message -> {
            CompletionStage<Void> unused = MessageBodies.handOver(message, sink);
        });
    }

    /** It ends with an error, though the server may not have ended it. */
    private void abandon(String why) {
        giveUpTask();
        fail(why);
    }

    /** The client has answered one of the questions. */
    void answered(RequestId question, Envelope answer) {
        String key;
        boolean last;
        String result = JsonParts.raw(answer.bytes(), "result").orElse("{}");
        synchronized (this) {
            key = open.remove(question);
            if (key == null || over || ending) {
                return;
            }
            last = open.isEmpty();
            if (task.isEmpty()) {
                answers.put(key, result);
                Map<String, String> next = new LinkedHashMap<>(more);
                next.put("inputResponses", JsonParts.object(answers));
                more = next;
            }
        }
        if (answer.kind() == Envelope.Kind.ERROR) {
            abandon("the server's question has no answer: "
                    + AnswerFacts.ofError(answer.bytes()).message().orElse("the client has answered with an error"));
        } else if (!task.isEmpty()) {
            update(Map.of(key, result), false, 0);
        } else if (last) {
            send();
        }
    }

    private void withdraw() {
        List<RequestId> unanswered;
        synchronized (this) {
            unanswered = List.copyOf(open.keySet());
            open.clear();
        }
        for (RequestId question : unanswered) {
            session.withdrawn(question);
            OutboundMessage cancelled = JsonRpc.MESSAGES.cancelled(question, "the request has ended");
            CompletionStage<Void> unused = MessageBodies.handOver(MessageBodies.message(cancelled.bytes()), sink);
        }
    }

    private synchronized void later(long millis, Runnable what) {
        if (!over) {
            pause = Optional.of(session.later(millis, () -> {
                if (!outcome.isDone()) {
                    what.run();
                }
            }));
        }
    }

    /** The server has made a task of it. */
    private void becomes(byte[] result) {
        task = JsonParts.string(result, "result", "taskId").orElse("");
        boolean wanted;
        synchronized (this) {
            posted = Optional.empty();
            answers = new LinkedHashMap<>();
            wanted = !over;
        }
        if (!wanted) {
            giveUpTask();
        } else if (task.isEmpty() || task.length() > LONGEST_TASK_ID) {
            finish(new Outcome.Unreadable("its task has no id that can be used"));
        } else {
            pace(result);
            keep();
            later(interval, this::look);
        }
    }

    /** Lets the task be gone on with by another session. */
    private void keep() {
        synchronized (this) {
            if (kept) {
                return;
            }
            kept = true;
        }
        String token = request.progressToken()
                .map(asked -> ",\"_meta\":{\"progressToken\":" + asked.token() + "}")
                .orElse("");
        session.watch.goesOnAs(
                id(),
                MessageBodies.message(
                        JsonRpc.request(id(), TASK_RESULT, "{\"taskId\":" + JsonParts.quoted(task) + token + "}")));
    }

    private Map<String, String> taskId() {
        return Map.of("taskId", JsonParts.quoted(task));
    }

    private void pace(byte[] result) {
        try {
            long stated = JsonParts.raw(result, "result", "pollIntervalMs")
                    .map(Long::parseLong)
                    .orElse(PAUSE_MILLIS);
            interval = Math.max(LEAST_PAUSE_MILLIS, Math.min(stated, MOST_PAUSE_MILLIS));
        } catch (NumberFormatException e) {
            interval = PAUSE_MILLIS;
        }
    }

    /** Looks at the task. As long as the server may have it, a look that fails is repeated: the limit for the call is not set here. */
    private void look() {
        ask(session.request("tasks/get", taskId()), (how, answer) -> {
            if (isOver()) {
                return;
            }
            boolean bars = bars(how);
            if (answer.filter(error -> isError(error, NO_TASK)).isPresent()) {
                String why = "the server does not know its task any more";
                finish(new Outcome.Unknown(why, new IOException(why), false));
            } else if (answer.filter(state -> state.kind() == Envelope.Kind.RESPONSE)
                    .isPresent()) {
                keep();
                pace(answer.get().bytes());
                state(answer.get().bytes());
            } else if (bars || how instanceof Outcome.Closed) {
                finish(how.ofBegun(request));
            } else {
                later(Math.max(interval, PAUSE_MILLIS), this::look);
            }
        });
    }

    /** Whether the server has refused so many looks, one after the other, that it will not allow another. */
    private synchronized boolean bars(Outcome how) {
        boolean refused = how instanceof Outcome.Refused said && FORBIDDEN.contains(said.status());
        barred = refused ? barred + 1 : 0;
        return barred >= MOST_BARRED;
    }

    private void state(byte[] task) {
        switch (JsonParts.string(task, "result", "status").orElse("")) {
            case "completed" ->
                end("\"result\":" + JsonParts.raw(task, "result", "result").orElse("{}"));
            case "failed" ->
                JsonParts.raw(task, "result", "error")
                        .ifPresentOrElse(error -> end("\"error\":" + error), () -> fail("its task has failed"));
            case "cancelled" -> fail("the server has cancelled the task that it had made of it");
            default -> {
                Map<String, String> fresh = JsonParts.members(task, "result", "inputRequests");
                synchronized (this) {
                    fresh.keySet().removeIf(key -> !asked.add(key));
                }
                ask(fresh);
                later(interval, this::look);
                tell(task);
            }
        }
    }

    /** Tells what the task says of itself as progress, which is its age in seconds. */
    private void tell(byte[] task) {
        String message = JsonParts.string(task, "result", "statusMessage").orElse("");
        Optional<RequestId> token = request.progressToken();
        if (token.isPresent() && !message.isEmpty() && !message.equals(lastMessage)) {
            lastMessage = message;
            age(task).ifPresent(age -> {
                CompletionStage<Void> unused = told.pass(
                        MessageBodies.message(JsonRpc.notification(
                                "notifications/progress",
                                "{\"progressToken\":" + token.get().token() + ",\"progress\":" + told.beyond(age)
                                        + ",\"message\":" + JsonParts.quoted(message) + "}")),
                        sink);
            });
        }
    }

    private static Optional<Double> age(byte[] task) {
        try {
            return JsonParts.string(task, "result", "createdAt").map(at ->
                    (double) Duration.between(Instant.parse(at), Instant.now()).toSeconds());
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }

    /**
     * Gives answers to the task; what may not have arrived is sent again as long as the task may wait for it.
     *
     * @param again whether it may have arrived before: then it may be refused because it was taken
     * @param refusals how often something on the way has refused it
     */
    private void update(Map<String, String> responses, boolean again, int refusals) {
        Map<String, String> params = new LinkedHashMap<>(taskId());
        params.put("inputResponses", JsonParts.object(responses));
        ask(session.request("tasks/update", params), Repeat.NEVER, (how, answer) -> {
            boolean barred = how instanceof Outcome.Refused said && FORBIDDEN.contains(said.status());
            boolean error =
                    answer.filter(said -> said.kind() == Envelope.Kind.ERROR).isPresent();
            if (error && !barred) {
                if (!again) {
                    abandon("the server has not taken the answer to its question");
                }
            } else if (how instanceof Outcome.Refused && refusals + 1 == MOST_BARRED) {
                abandon("the answer to the server's question does not get through: " + how);
            } else if (!(how instanceof Outcome.Done)) {
                boolean sent = again || how instanceof Outcome.Unknown;
                int refused = how instanceof Outcome.Refused ? refusals + 1 : refusals;
                later(doubled(refused), () -> update(responses, sent, refused));
            }
        });
    }

    private static long doubled(int times) {
        return Math.min(PAUSE_MILLIS << Math.min(times, MOST_DOUBLINGS), MOST_PAUSE_MILLIS);
    }
}

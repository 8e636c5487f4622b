package dev.holdfast.modern;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.StreamReader.Waker;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.ModernAnswer;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One request of a stateless revision while its connection is open: what each event of its call's stream comes to for its client, and when
 * the client gets a handle in the place of a response. One that leaves without either has cancelled its request.
 *
 * <pre>
 *   open --response-------------------------------------------> answered
 *   open --a while, for a client that takes tasks--> noted ---> handed over: a task
 *   open --a question, and a moment for others-----> noted ---> handed over: input is required
 *   open --a question that its client does not answer---------> refused: the call is cancelled
 *   open --the connection breaks------------------------------> cancelled
 *   input is required --its client comes back with answers----> open, and noted
 * </pre>
 *
 * A note stands in the stream of the call before its client is told of a handle: what a client can come back for is in the store.
 */
public final class ModernCall implements ModernStream {
    /**
     * A client is asked when nothing more was asked for so long. Threads of a busy server that ask at the same time are heard tens of
     * milliseconds apart, and what comes too late costs the client one more request.
     */
    private static final long TOGETHER_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** How long a call is kept of which its client has not heard that it is. */
    private static final Duration UNKNOWN = Duration.ofMinutes(1);
    /** The requests that may be answered by a wish for input. */
    private static final Set<String> MAY_ASK = Set.of("tools/call", "prompts/get", "resources/read");

    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    /** What concerns no call, though a backend may send it during one. */
    private static final Set<String> OF_NO_CALL = Set.of(
            "notifications/cancelled",
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated");

    private final KeptCalls kept;
    private final Carrier carrier;
    private final RequestMeta meta;
    private final String method;
    private final RequestId id;
    private final Optional<RequestId> token;
    private final CallNote note;
    private final @Nullable Call call;
    private final boolean mayBeTask;
    /** What the client has answered before it was asked, by the keys that its server chooses. */
    private final Map<String, String> ahead;

    private final AtomicBoolean noting = new AtomicBoolean();
    private final AtomicBoolean closed = new AtomicBoolean();
    /** When the last question came that waits for others; 0 while none does. */
    private volatile long askedAt;
    /** Whether the call of a client that has come back becomes a task now. */
    private volatile boolean taskDue;

    private final List<Question> questions = new CopyOnWriteArrayList<>();
    /** Whether it cannot be noted, so that its client has nothing to come back with, and cannot be asked. */
    private volatile boolean cannotAsk;

    private volatile @Nullable Waker waker;

    // for whoever reads the stream
    private boolean noted;
    private boolean refused;
    private boolean superseded;
    private boolean handedOver;

    /**
     * @param note what is noted if the client gets a handle, or what was noted when it did
     * @param call the call; absent where its client comes back for it
     */
    ModernCall(
            KeptCalls kept, Carrier carrier, Envelope request, RequestMeta meta, CallNote note, @Nullable Call call) {
        this.kept = kept;
        this.carrier = carrier;
        this.meta = meta;
        this.method = request.method();
        this.id = request.id().orElseThrow();
        this.token = request.progressToken();
        this.note = note;
        this.call = call;
        this.noted = call == null;
        this.mayBeTask = note.task() && meta.tasks();
        this.ahead = call != null && request.bringsInputs()
                ? JsonParts.members(request.bytes(), "params", "inputResponses")
                : Map.of();
        carrier.listen();
    }

    @Override
    public Optional<Message> take(Event event, String position) {
        return switch (event.kind()) {
            case EventKind.RESPONSE -> Optional.of(answer(event.bytes()));
            case EventKind.ERROR -> urlRequired(event.bytes()).or(() -> Optional.of(answer(event.bytes())));
            case EventKind.NOTE -> noted(position);
            case EventKind.SERVER_REQUEST -> asked(Question.of(event), position);
            case EventKind.LOG -> !kept.shared() && meta.hears(event.bytes()) ? pass(event) : Optional.empty();
            case EventKind.NOTIFICATION -> notified(event);
            case EventKind.PROGRESS -> call == null ? progress(event) : pass(event);
            default -> pass(event);
        };
    }

    private static Optional<Message> pass(Event event) {
        return Optional.of(new Message(event.bytes(), false, 0));
    }

    /** That of a call whose client has come back has the token of its first request, and gets that of this one. */
    private Optional<Message> progress(Event event) {
        return token.flatMap(now -> ENVELOPES.read(event.bytes()) instanceof EnvelopeReader.Single told
                ? Optional.of(new Message(told.message().withProgressToken(now).bytes(), false, 0))
                : Optional.empty());
    }

    private Optional<Message> notified(Event event) {
        CallState.withdrawn(event)
                .ifPresent(withdrawn ->
                        questions.removeIf(question -> question.id().equals(withdrawn)));
        return JsonParts.string(event.bytes(), "method")
                .filter(named -> !OF_NO_CALL.contains(named))
                .flatMap(named -> pass(event));
    }

    private Message answer(byte[] answer) {
        if (method.equals("tools/list")) {
            carrier.tools().learn(answer);
        }
        ModernAnswer modern =
                ModernAnswer.of(answer, method, id, carrier.introduction().serverInfo());
        return new Message(modern.bytes(), true, modern.code());
    }

    /**
     * What the error of older revisions comes to by which a server wants URLs to be opened: the request is to be sent again when that is
     * done, and goes on with nothing.
     */
    private Optional<Message> urlRequired(byte[] error) {
        List<byte[]> wanted = JsonParts.raw(error, "error", "code")
                        .filter(code -> code.equals(Integer.toString(JsonRpc.URL_REQUIRED)) && MAY_ASK.contains(method))
                        .isPresent()
                ? JsonParts.elements(error, "error", "data", "elicitations")
                : List.of();
        if (wanted.isEmpty()) {
            return Optional.empty();
        }
        boolean opens = meta.capabilities()
                .flatMap(capabilities -> JsonParts.raw(capabilities.getBytes(UTF_8), "elicitation", "url"))
                .isPresent();
        if (!opens) {
            return Optional.of(missing("elicitation.url", "{\"elicitation\":{\"url\":{}}}"));
        }
        StringJoiner requests = new StringJoiner(",", "\"inputRequests\":{", "}");
        for (int i = 0; i < wanted.size(); i++) {
            requests.add("\"url" + i + "\":{\"method\":\"elicitation/create\",\"params\":"
                    + new String(wanted.get(i), UTF_8) + "}");
        }
        return Optional.of(new Message(Task.response(id, "input_required", requests.toString()), true, 0));
    }

    private Message missing(String capability, String capabilities) {
        byte[] error = JsonRpc.errorBody(
                Optional.of(id),
                JsonRpc.MISSING_CAPABILITY,
                "Missing required client capability: " + capability,
                "{\"requiredCapabilities\":" + capabilities + "}");
        return new Message(error, true, JsonRpc.MISSING_CAPABILITY);
    }

    @Override
    public Message ended(String why) {
        return new Message(
                JsonRpc.errorBody(Optional.of(id), JsonRpc.INTERNAL_ERROR, why), true, JsonRpc.INTERNAL_ERROR);
    }

    private Optional<Message> asked(Question question, String position) {
        if (!MAY_ASK.contains(method)) {
            carrier.answer(question.declined("no client can be asked during " + method));
            return Optional.empty();
        }
        if (!meta.answers().contains(question.capability())) {
            refused = true;
            return Optional.of(missing(question.capability(), "{" + JsonParts.quoted(question.capability()) + ":{}}"));
        }
        String answer = ahead.get(question.key());
        if (answer != null) {
            carrier.answer(question.answered(answer, InboundMessage.NO_CONTEXT));
            return Optional.empty();
        }
        questions.add(question);
        if (noted) {
            return inputRequired(position);
        }
        askedAt = kept.now();
        if (cannotAsk) {
            decline(question);
        }
        return Optional.empty();
    }

    private Optional<Message> noted(String position) {
        noted = true;
        if (!questions.isEmpty()) {
            return inputRequired(position);
        }
        if (!mayBeTask) {
            return Optional.empty();
        }
        CallHandle task = handOver(position);
        return Optional.of(new Message(Task.response(id, "task", Task.begun(task.toString(), note)), true, 0));
    }

    private Optional<Message> inputRequired(String position) {
        CallHandle state = handOver(position);
        String members = "\"inputRequests\":" + Question.json(questions) + ",\"requestState\":"
                + JsonParts.quoted(state.toString());
        return Optional.of(new Message(Task.response(id, "input_required", members), true, 0));
    }

    /** Who comes back by this reads on from there. */
    private CallHandle handOver(String position) {
        EventId last = EventId.parse(position).orElseThrow();
        kept.keep(carrier, note, last.stream(), questions);
        handedOver = true;
        return new CallHandle(carrier.session().id(), last, note.nonce());
    }

    @Override
    public void tick(long age) {
        long asked = askedAt;
        boolean due = (asked != 0 && kept.now() - asked >= TOGETHER_NANOS) || (mayBeTask && kept.isTaskAfter(age));
        if (!due || noting.getAndSet(true)) {
            return;
        }
        Call present = call;
        if (present == null) {
            taskDue = true;
            wake();
            return;
        }
        present.note(note.pack()).whenComplete((done, failure) -> {
            if (failure != null) {
                // the store has not taken it: the next tick tries again
                noting.set(false);
            } else if (!done) {
                // it has its answer already, or goes on without a handle
                cannotAsk = true;
                questions.forEach(this::decline);
            }
        });
    }

    private void decline(Question question) {
        carrier.answer(question.declined("the client of this call cannot be asked"));
    }

    private void wake() {
        Waker reading = waker;
        if (reading != null) {
            reading.wake();
        }
    }

    /** Who is woken when {@link #due} has something. */
    public void wakeWith(Waker reading) {
        waker = reading;
    }

    /**
     * What is read in the place of nothing: the call of a client that has come back was noted when it was asked, and becomes a task by that
     * note.
     *
     * @param position up to where its stream is read
     */
    public Optional<Event> due(String position) {
        if (!taskDue) {
            return Optional.empty();
        }
        taskDue = false;
        EventId last = EventId.parse(position).orElseThrow();
        return Optional.of(new Event(last.stream(), last.epoch(), last.offset(), EventKind.NOTE, null, note.pack()));
    }

    /** A newer connection goes on with it. */
    public void superseded() {
        superseded = true;
    }

    /**
     * The connection has ended.
     *
     * @return how the reading of the stream ends by that
     */
    public Close closed(Close how) {
        if (closed.getAndSet(true)) {
            return how;
        }
        Close end = left(how);
        carrier.unlisten();
        return end;
    }

    private Close left(Close how) {
        if (superseded) {
            return how;
        }
        if (handedOver) {
            // nothing counts as delivered
            return Close.BROKEN;
        }
        // who has come back by a handle may do so again at the next server
        boolean sentAway = how == Close.HANDOVER && call != null;
        if (how == Close.BROKEN || sentAway || refused) {
            Call present = call;
            if (present != null && noting.get()) {
                // nobody knows of what was noted
                carrier.keep(note.nonce(), UNKNOWN, present.stream());
            }
            carrier.giveUp(note.request());
        }
        carrier.done();
        return how;
    }
}

package dev.holdfast.modern;

import dev.holdfast.Call;
import dev.holdfast.Finding;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener.TaskEvent;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.json.ToolHeaders;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * The calls whose clients have a {@link CallHandle}: tasks, and requests that wait for answers. Nothing is kept of them here but the time
 * that parked ones have: what a handle names is read from the session that carries it, on whatever node that is asked. Safe for use by any
 * thread.
 */
public final class KeptCalls {
    /** How long a request may wait for the answers of its client. */
    private static final Duration PARKED = Duration.ofMinutes(10);

    private static final long WATCH_MILLIS = 1_000;
    private static final int NONCE_BYTES = 16;

    private final SessionEngine engine;
    private final Carriers carriers;
    private final long taskAfterNanos;
    private final long ttlMillis;
    private final SecureRandom random = new SecureRandom();
    private final InstantSource clock = InstantSource.system();
    /** What gives up those that wait for answers, by nonce. */
    private final Map<String, Future<?>> parked = new ConcurrentHashMap<>();

    /**
     * A call that a handle names.
     *
     * @param handle the handle, as its client has written it
     */
    public record KeptCall(String handle, CallHandle named, Session session, CallState state) {}

    /**
     * @param taskAfter how long a call runs before it becomes a task, where its client takes one
     * @param ttl how long a task is kept from its beginning
     */
    public KeptCalls(SessionEngine engine, Carriers carriers, Duration taskAfter, Duration ttl) {
        this.engine = engine;
        this.carriers = carriers;
        this.taskAfterNanos = taskAfter.toNanos();
        this.ttlMillis = ttl.toMillis();
    }

    /** Whether principals share servers: what a server tells without saying to whom may be meant for another. */
    boolean shared() {
        return carriers.anybody();
    }

    long now() {
        return engine.clock().getAsLong();
    }

    /** Whether a call of this age becomes a task: after its time, and before a server ends that has kept it in its store. */
    boolean isTaskAfter(long age) {
        return age >= taskAfterNanos || (engine.draining() && engine.durability() != SessionStore.Durability.NOTHING);
    }

    /**
     * A call that has just begun.
     *
     * @param inner its request, as its session has it
     */
    public ModernCall begun(
            Carrier carrier, Call call, Envelope request, RequestMeta meta, InboundMessage inner, String principal) {
        boolean task = meta.tasks() && request.method().equals("tools/call");
        boolean mayBeKept = task || !meta.answers().isEmpty();
        CallNote note = new CallNote(
                mayBeKept ? nonce() : "",
                task,
                clock.millis(),
                ttlMillis,
                meta.answers(),
                inner.requiredId(),
                request.method(),
                mayBeKept ? CallNote.subject(request) : "",
                principal);
        return new ModernCall(this, carrier, request, meta, note, call);
    }

    private String nonce() {
        byte[] bytes = new byte[NONCE_BYTES];
        random.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /**
     * The client of a call has a handle from now on, and no connection.
     *
     * @param asked what it was asked; nothing where the call is a task now
     */
    void keep(Carrier carrier, CallNote note, StreamId stream, List<Question> asked) {
        carrier.keep(note.nonce(), Duration.ofMillis(note.ttlMillis()), stream);
        engine.task(carrier.session(), asked.isEmpty() ? TaskEvent.CREATED : TaskEvent.INPUT_REQUIRED);
        if (!asked.isEmpty()) {
            park(carrier, note, stream, keys(asked));
        }
    }

    private static Set<String> keys(List<Question> questions) {
        return questions.stream().map(Question::key).collect(Collectors.toUnmodifiableSet());
    }

    /** Gives its client time to answer. */
    private void park(Carrier carrier, CallNote note, StreamId stream, Set<String> keys) {
        Future<?> end = engine.scheduler()
                .schedule(() -> giveUp(carrier, note, stream, keys), PARKED.toMillis(), TimeUnit.MILLISECONDS);
        Future<?> before = parked.put(note.nonce(), end);
        if (before != null) {
            before.cancel(false);
        }
    }

    /** Gives up a call whose client has not answered; it may have come back at another node. */
    private void giveUp(Carrier carrier, CallNote note, StreamId stream, Set<String> keys) {
        parked.remove(note.nonce());
        carrier.session().kept(stream).whenComplete((found, failure) -> {
            boolean waits = failure == null
                    && found.flatMap(events -> CallState.of(events, note.nonce())).stream()
                            .flatMap(state -> state.questions().stream())
                            .anyMatch(question -> keys.contains(question.key()));
            if (waits) {
                carrier.giveUp(note.request());
                carrier.unkeep(note.nonce());
                carrier.done();
                engine.task(carrier.session(), TaskEvent.INPUT_MISSED);
            }
        });
    }

    /**
     * Finds the call that a handle names; empty where there is none, be it that there never was, that it is over for too long, or that
     * it is another principal's. Fails with a {@link StoreUnavailableException} where nobody can tell now.
     *
     * @param tasks whether it must be a call whose client takes tasks
     */
    public CompletionStage<Optional<KeptCall>> find(String handle, String principal, boolean tasks) {
        Optional<CallHandle> parsed = CallHandle.parse(handle);
        if (parsed.isEmpty()) {
            return CompletableFuture.completedFuture(Optional.empty());
        }
        CallHandle named = parsed.get();
        return engine.find(named.session(), carriers.owner(principal)).thenCompose(finding -> {
            if (finding instanceof Finding.Found found && found.session().kind().equals(SessionRecord.CARRIER)) {
                Session session = found.session();
                return session.kept(named.position().stream())
                        .thenApply(stream -> stream.flatMap(events -> CallState.of(events, named.nonce()))
                                .filter(state -> (state.note().task() || !tasks)
                                        && !isOver(state.note())
                                        && state.note().principal().equals(principal))
                                .map(state -> new KeptCall(handle, named, session, state)))
                        .thenApply(call -> {
                            call.ifPresent(this::answerOurs);
                            return call;
                        });
            } else if (finding instanceof Unavailable) {
                throw new StoreUnavailableException(null);
            }
            return CompletableFuture.completedFuture(Optional.empty());
        });
    }

    private void answerOurs(KeptCall call) {
        Carrier carrier = carriers.of(call.session);
        call.state.ours().forEach(carrier::answer);
    }

    private boolean isOver(CallNote note) {
        return clock.millis() > note.createdAt() + note.ttlMillis();
    }

    /** The response to {@code tasks/get}. */
    public byte[] task(KeptCall call, RequestId id) {
        return Task.response(id, "complete", members(call));
    }

    /** The response to a request that is done. */
    public byte[] done(RequestId id) {
        return Task.response(id, "complete", "");
    }

    /**
     * Gives the answers of a request, {@code params.inputResponses}, to whoever has asked; those that nobody waits for are left out.
     *
     * @return completes when they are given, with the keys of the questions that are still open; fails if the store or a node could not
     *     be reached
     */
    public CompletionStage<List<String>> answer(KeptCall call, Envelope request, Object context) {
        List<String> open = new ArrayList<>();
        CompletionStage<Boolean> all = CompletableFuture.completedFuture(true);
        if (call.state.status() == CallState.Status.INPUT_REQUIRED) {
            Carrier carrier = carriers.of(call.session);
            Map<String, String> answers = JsonParts.members(request.bytes(), "params", "inputResponses");
            for (Question question : call.state.questions()) {
                String answer = answers.get(question.key());
                if (answer == null) {
                    open.add(question.key());
                } else {
                    // one behind the other: equal questions get theirs in this order when the call is run again
                    all = all.thenCompose(before -> carrier.answered(call.session, question.answered(answer, context)));
                }
            }
        }
        return all.thenApply(done -> open);
    }

    /** The response to a retry that leaves these questions open: they are asked again. */
    public byte[] askAgain(KeptCall call, RequestId id, List<String> open) {
        List<Question> questions = call.state.questions().stream()
                .filter(question -> open.contains(question.key()))
                .toList();
        park(carriers.of(call.session), call.state.note(), call.named.position().stream(), Set.copyOf(open));
        return Task.response(
                id,
                "input_required",
                "\"inputRequests\":" + Question.json(questions) + ",\"requestState\":" + JsonParts.quoted(call.handle));
    }

    /** Gives up a task; completes when that is known to whoever runs it. */
    public CompletionStage<Void> cancel(KeptCall call) {
        return carriers.of(call.session).giveUp(call.session, call.state.note().request());
    }

    /** Attaches the client of a retry to what follows in its call. */
    public CompletionStage<Resume> comeBack(KeptCall call) {
        String nonce = call.state.note().nonce();
        return call.session.resume(call.named.position()).thenApply(resume -> {
            if (resume.attached().isPresent()) {
                engine.task(call.session, TaskEvent.INPUT_GIVEN);
                Future<?> end = parked.remove(nonce);
                if (end != null) {
                    end.cancel(false);
                }
                carriers.of(call.session).unkeep(nonce);
            }
            return resume;
        });
    }

    /** Whether a request may go on with a call: it has to be the same request. */
    public boolean isRetry(KeptCall call, Envelope request) {
        CallNote note = call.state.note();
        return note.method().equals(request.method()) && note.subject().equals(CallNote.subject(request));
    }

    /** What is known of the tools of the server that has a call. */
    public ToolHeaders tools(KeptCall call) {
        return carriers.of(call.session).tools();
    }

    /** The call of a client that has come back for it. */
    public ModernCall goesOn(KeptCall call, Envelope request, RequestMeta meta) {
        return new ModernCall(this, carriers.of(call.session), request, meta, call.state.note(), null);
    }

    /**
     * Lets a client listen.
     *
     * @return completes with what is told to it, when the backend tells what it wants to hear of: then the carrier is released when that
     *     is closed. Empty where nobody can listen now; fails if the store failed: then it is released already
     */
    public CompletionStage<Optional<Subscription>> listen(Carrier carrier, Envelope request, String principal) {
        CompletionStage<List<String>> tasks = CompletableFuture.completedFuture(new ArrayList<>());
        for (String task : Subscription.tasks(request)) {
            tasks = tasks.thenCombine(find(task, principal, true), (found, there) -> {
                there.ifPresent(known -> found.add(known.handle));
                return found;
            });
        }
        return tasks.thenCombine(
                        carrier.feed(),
                        (known, feed) -> feed.map(there -> new Subscription(request, carrier, there, known)))
                .thenCompose(subscription -> subscription.isEmpty()
                        ? CompletableFuture.completedFuture(subscription)
                        : begun(subscription.get(), principal))
                .whenComplete((subscription, failure) -> {
                    if (failure != null || subscription.isEmpty()) {
                        carrier.release();
                    }
                });
    }

    private CompletionStage<Optional<Subscription>> begun(Subscription subscription, String principal) {
        return subscription.begin().thenApply(begun -> {
            watch(subscription, principal);
            return Optional.of(subscription);
        });
    }

    /** Looks each second whether a task of which somebody wants to hear is in another state, unless the last look is under way. */
    private void watch(Subscription subscription, String principal) {
        if (subscription.watched().findAny().isPresent()) {
            AtomicBoolean looking = new AtomicBoolean();
            Runnable look = () -> {
                if (!looking.getAndSet(true)) {
                    CompletableFuture.allOf(subscription
                                    .watched()
                                    .map(task -> find(task, principal, true).toCompletableFuture())
                                    .map(found -> found.thenAccept(
                                            task -> task.ifPresent(there -> tell(subscription, there))))
                                    .toArray(CompletableFuture[]::new))
                            .whenComplete((done, failure) -> looking.set(false));
                }
            };
            subscription.watchedBy(
                    engine.scheduler().scheduleWithFixedDelay(look, 0, WATCH_MILLIS, TimeUnit.MILLISECONDS));
        }
    }

    private void tell(Subscription subscription, KeptCall task) {
        subscription.offer(task.handle, task.state.status(), keys(task.state.questions()), members(task));
    }

    private String members(KeptCall task) {
        return Task.detailed(
                task.handle, task.state, clock.millis(), carriers.introduction().serverInfo());
    }
}

package dev.holdfast.modern;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.TaggedNotification;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A client that listens, by {@code subscriptions/listen}: what it wants to hear of waits for its connection, and nothing is kept for when
 * that is gone.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions">MCP 2026-07-28, subscriptions</a>
 */
public final class Subscription implements StreamReader, ModernStream {
    /** What waits for a connection that takes nothing; one with more is ended. */
    private static final int MOST_WAITING = 1_000;

    private static final Map<String, String> LISTS = Map.of(
            "toolsListChanged", "tools",
            "promptsListChanged", "prompts",
            "resourcesListChanged", "resources");
    /** How long the backend has to say of which resources it tells. */
    private static final long AGREES_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final int MOST_TASKS = 64;
    private static final int MOST_RESOURCES = 256;
    private static final String UPDATED = "notifications/resources/updated";
    private static final Epoch NO_EPOCH = new Epoch(0, 0);

    private final RequestId id;
    /** The notifications that are wanted, by their methods. */
    private final Set<String> methods;

    private final Set<String> resources = ConcurrentHashMap.newKeySet();
    private final List<String> tasks;
    private final Carrier carrier;
    private final Feed feed;
    /** The states of tasks that were told last. */
    private final Map<String, Told> told = new ConcurrentHashMap<>();

    private volatile Waker waker = new Waker() {
        @Override
        public void wake() {}

        @Override
        public void abort() {}
    };
    private volatile @Nullable Future<?> watching;

    /** What was told last of a task, and which of its questions were open then. */
    private record Told(CallState.Status status, Set<String> questions) {}

    // guarded by this
    private final Deque<Event> waiting = new ArrayDeque<>();
    private boolean ended;
    private boolean released;

    /**
     * What a client wants to hear of, as far as its server tells it.
     *
     * @param carrier its server; released when nobody listens any more
     * @param tasks those of its tasks that there are
     */
    Subscription(Envelope request, Carrier carrier, Feed feed, List<String> tasks) {
        byte[] bytes = request.bytes();
        byte[] capabilities = carrier.introduction().capabilities().getBytes(UTF_8);
        this.id = request.id().orElseThrow();
        this.methods = LISTS.entrySet().stream()
                .filter(list -> JsonParts.isTrue(bytes, "params", "notifications", list.getKey())
                        && JsonParts.isTrue(capabilities, list.getValue(), "listChanged"))
                .map(list -> "notifications/" + list.getValue() + "/list_changed")
                .collect(Collectors.toUnmodifiableSet());
        if (JsonParts.isTrue(capabilities, "resources", "subscribe")) {
            resources.addAll(resources(request));
        }
        this.tasks = tasks;
        this.carrier = carrier;
        this.feed = feed;
    }

    /** Begins to listen; completes when the backend has said of which resources it tells: the client learns that first. */
    CompletionStage<Void> begin() {
        carrier.listen();
        if (!feed.add(this)) {
            end();
        }
        Executor threads = carrier.answering();
        CompletionStage<Void> asked = CompletableFuture.completedFuture(null);
        long due = System.nanoTime() + AGREES_NANOS;
        // one after the other: a session takes so many calls at once, and others have some
        for (String uri : List.copyOf(resources)) {
            asked = asked.thenCompose(done -> agrees(uri, due, threads))
                    .thenAcceptAsync(
                            agreed -> {
                                if (!agreed) {
                                    feed.unsubscribe(this, uri);
                                    resources.remove(uri);
                                }
                            },
                            threads);
        }
        return asked.thenRun(this::acknowledge).whenComplete((done, failure) -> {
            if (failure != null) {
                feed.remove(this);
                carrier.unlisten();
            }
        });
    }

    /** Whether the backend tells of a resource; not, if it has not said so in time. */
    private CompletionStage<Boolean> agrees(String uri, long due, Executor threads) {
        long left = due - System.nanoTime();
        // a handler may run for long on the thread that asks
        return left <= 0
                ? CompletableFuture.completedFuture(false)
                : CompletableFuture.supplyAsync(() -> feed.subscribe(this, uri), threads)
                        .thenCompose(Function.identity())
                        .completeOnTimeout(false, left, TimeUnit.NANOSECONDS);
    }

    /** The ids of the tasks that a request wants to hear of. */
    static List<String> tasks(Envelope request) {
        return wishes(request, "taskIds");
    }

    private static List<String> resources(Envelope request) {
        return wishes(request, "resourceSubscriptions");
    }

    private static List<String> wishes(Envelope request, String kind) {
        return JsonParts.strings(request.bytes(), "params", "notifications", kind).stream()
                .distinct()
                .toList();
    }

    /** What a request asks too much of; empty where it does not. */
    public static Optional<String> excess(Envelope request) {
        if (tasks(request).size() > MOST_TASKS) {
            return Optional.of("taskIds must not name more than " + MOST_TASKS + " tasks: listen again for others");
        }
        return resources(request).size() > MOST_RESOURCES
                ? Optional.of("resourceSubscriptions must not name more than " + MOST_RESOURCES
                        + " resources: listen again for others")
                : Optional.empty();
    }

    private void acknowledge() {
        synchronized (this) {
            waiting.addFirst(event(acknowledgement()));
        }
        waker.wake();
    }

    private byte[] acknowledgement() {
        Map<String, String> agreed = new LinkedHashMap<>();
        LISTS.forEach((wish, list) -> {
            if (methods.contains("notifications/" + list + "/list_changed")) {
                agreed.put(wish, "true");
            }
        });
        if (!resources.isEmpty()) {
            agreed.put("resourceSubscriptions", texts(resources.stream()));
        }
        if (!tasks.isEmpty()) {
            agreed.put("taskIds", texts(tasks.stream()));
        }
        return JsonRpc.notification(
                "notifications/subscriptions/acknowledged",
                "{\"_meta\":{" + TaggedNotification.member(id) + "},\"notifications\":" + JsonParts.object(agreed)
                        + "}");
    }

    private static String texts(Stream<String> texts) {
        return texts.map(JsonParts::quoted).collect(Collectors.joining(",", "[", "]"));
    }

    /** The resources whose changes it wants to hear of. */
    Set<String> resources() {
        return resources;
    }

    /** The tasks whose states it wants to hear of, but for those that are over. */
    Stream<String> watched() {
        return tasks.stream().filter(task -> !isOver(told.get(task)));
    }

    private static boolean isOver(@Nullable Told told) {
        return told != null
                && told.status != CallState.Status.WORKING
                && told.status != CallState.Status.INPUT_REQUIRED;
    }

    /** It is told of its tasks by this. */
    void watchedBy(Future<?> watch) {
        watching = watch;
    }

    /**
     * Tells the state of a task, if that was not told last.
     *
     * @param questions the keys of its open questions
     */
    void offer(String task, CallState.Status status, Set<String> questions, String members) {
        Told now = new Told(status, questions);
        if (!now.equals(told.put(task, now))) {
            String params = "{\"_meta\":{" + TaggedNotification.member(id) + "}," + members + "}";
            add(JsonRpc.notification("notifications/tasks", params));
        }
    }

    /**
     * Tells something that the backend has sent, if it is wanted.
     *
     * @param method of the notification
     * @param uri the resource that it is about; empty for none
     */
    void offer(Event event, String method, String uri) {
        if (method.equals(UPDATED) ? resources.contains(uri) : methods.contains(method)) {
            add(TaggedNotification.of(event.bytes(), id));
        }
    }

    private void add(byte[] notification) {
        synchronized (this) {
            if (ended) {
                return;
            }
            waiting.add(event(notification));
            ended = waiting.size() > MOST_WAITING;
        }
        waker.wake();
    }

    private static Event event(byte[] notification) {
        return new Event(StreamId.LISTENING, NO_EPOCH, Event.UNPLACED, EventKind.NOTIFICATION, null, notification);
    }

    /** Nothing more will be told. */
    void end() {
        synchronized (this) {
            ended = true;
        }
        waker.wake();
    }

    @Override
    public Next read(int maxBytes) {
        synchronized (this) {
            List<Event> found = new ArrayList<>();
            for (long room = maxBytes; !waiting.isEmpty(); ) {
                room -= waiting.element().bytes().length;
                if (room < 0 && !found.isEmpty()) {
                    break;
                }
                found.add(waiting.remove());
            }
            if (!found.isEmpty()) {
                return new Events(found);
            }
            return ended ? new End(EndReason.COMPLETED, Optional.empty()) : Rest.REST;
        }
    }

    @Override
    public Optional<Message> take(Event event, String position) {
        return Optional.of(new Message(event.bytes(), false, 0));
    }

    /** The server ends it: its client is told so in the form of a result. */
    @Override
    public Message ended(String why) {
        byte[] result = Task.response(id, "complete", "\"_meta\":{" + TaggedNotification.member(id) + "}");
        return new Message(result, true, 0);
    }

    @Override
    public void tick(long age) {
        // it ends with its connection
    }

    @Override
    public void close(Close how) {
        synchronized (this) {
            if (released) {
                return;
            }
            released = true;
            ended = true;
            waiting.clear();
        }
        Future<?> watch = watching;
        if (watch != null) {
            watch.cancel(false);
        }
        feed.remove(this);
        carrier.unlisten();
        carrier.release();
    }

    @Override
    public void wakeWith(Waker next) {
        waker = next;
    }

    @Override
    public String position() {
        return "";
    }

    @Override
    public String position(Event event) {
        return "";
    }

    @Override
    public void positionTold() {
        // nobody comes back to it
    }

    @Override
    public boolean recorded() {
        return true;
    }

    @Override
    public void wrote(long began, long completed) {
        // nothing is kept
    }
}

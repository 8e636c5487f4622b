package dev.holdfast.modern;

import dev.holdfast.StreamReader;
import dev.holdfast.json.JsonParts;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the backend of a carrier sends outside of calls: it goes to all that listen to it, and pings are answered here. Nothing is kept for
 * who does not listen.
 */
final class Feed implements StreamReader.Waker {
    private static final int READ_BYTES = 1 << 16;

    private final Carrier carrier;
    private final LongSupplier clock;
    private final Set<Subscription> subscriptions = ConcurrentHashMap.newKeySet();
    /** The resources that are subscribed. Guarded by itself. */
    private final Map<String, Subscribed> resources = new HashMap<>();
    /** How often it was woken since it last found nothing to read. */
    private final AtomicInteger wakes = new AtomicInteger();

    private volatile @Nullable StreamReader reader;
    private volatile boolean over;

    /** A resource whose changes its backend was asked to tell, by whom, and whether it does. */
    private record Subscribed(Set<Subscription> by, CompletableFuture<Boolean> agreed) {}

    /** The ends of subscriptions that its backend was asked for and has not answered. Guarded by the resources. */
    private final Map<String, CompletableFuture<Boolean>> leaving = new HashMap<>(0);

    Feed(Carrier carrier, LongSupplier clock) {
        this.carrier = carrier;
        this.clock = clock;
    }

    /** Begins to read; completes with whether it could. */
    CompletionStage<Boolean> begin() {
        return carrier.session().listen().thenApply(resume -> {
            Optional<StreamReader> attached = resume.attached();
            over = attached.isEmpty();
            attached.ifPresent(begun -> {
                reader = begun;
                begun.wakeWith(this);
                wake();
            });
            return attached.isPresent();
        });
    }

    /** Lets somebody listen; false if it is over. */
    boolean add(Subscription subscription) {
        subscriptions.add(subscription);
        if (over) {
            subscriptions.remove(subscription);
        }
        return !over;
    }

    void remove(Subscription subscription) {
        if (subscriptions.remove(subscription)) {
            subscription.resources().forEach(uri -> unsubscribe(subscription, uri));
        }
    }

    /** Asks the backend to tell of changes of a resource, if it was not asked before; completes with whether it does. */
    CompletableFuture<Boolean> subscribe(Subscription subscription, String uri) {
        Subscribed resource;
        CompletableFuture<Boolean> after;
        boolean first;
        synchronized (resources) {
            after = leaving.getOrDefault(uri, CompletableFuture.completedFuture(true));
            first = !resources.containsKey(uri);
            resource =
                    resources.computeIfAbsent(uri, any -> new Subscribed(new HashSet<>(), new CompletableFuture<>()));
            resource.by.add(subscription);
        }
        if (first) {
            after.thenCompose(left -> carrier.ask("resources/subscribe", uri)).whenComplete((agreed, failure) -> {
                boolean tells = failure == null && agreed;
                if (!tells) {
                    synchronized (resources) {
                        resources.remove(uri, resource);
                    }
                }
                resource.agreed.complete(tells);
            });
        }
        return resource.agreed.copy();
    }

    /** The backend need not tell one of changes of a resource any more; it is asked so when there is no other. */
    void unsubscribe(Subscription subscription, String uri) {
        CompletableFuture<Boolean> left = new CompletableFuture<>();
        synchronized (resources) {
            Subscribed resource = resources.get(uri);
            if (resource == null || !resource.by.remove(subscription) || !resource.by.isEmpty()) {
                return;
            }
            resources.remove(uri);
            leaving.put(uri, left);
        }
        carrier.ask("resources/unsubscribe", uri).whenComplete((done, failure) -> {
            Carrier.logged("asked", failure);
            synchronized (resources) {
                leaving.remove(uri, left);
            }
            left.complete(true);
        });
    }

    @Override
    public void wake() {
        int seen = wakes.incrementAndGet();
        if (seen > 1) {
            return;
        }
        do {
            read();
            seen = wakes.addAndGet(-seen);
        } while (seen > 0);
    }

    @Override
    public void abort() {
        end();
    }

    private void read() {
        StreamReader present = reader;
        while (present != null && !over) {
            StreamReader.Next next = present.read(READ_BYTES);
            if (next instanceof StreamReader.Events events) {
                events.events().forEach(this::take);
                present.wrote(clock.getAsLong(), clock.getAsLong());
            } else if (next instanceof StreamReader.End) {
                present.close(StreamReader.Close.IN_ORDER);
                end();
            } else {
                return;
            }
        }
    }

    private void take(Event event) {
        Question.answerOutsideOfCalls(event).ifPresent(carrier::answer);
        if (event.kind() == EventKind.NOTIFICATION) {
            String method = JsonParts.string(event.bytes(), "method").orElse("");
            String uri = JsonParts.string(event.bytes(), "params", "uri").orElse("");
            subscriptions.forEach(subscription -> subscription.offer(event, method, uri));
        }
    }

    /** The session has ended: nothing will be told any more. */
    private void end() {
        over = true;
        subscriptions.forEach(Subscription::end);
    }
}

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
    /** Those of which somebody wants to hear, or did a moment ago. Guarded by itself. */
    private final Map<String, Resource> resources = new HashMap<>();
    /** How often it was woken since it last found nothing to read. */
    private final AtomicInteger wakes = new AtomicInteger();

    private volatile @Nullable StreamReader reader;
    private volatile boolean over;

    /** A resource of which somebody wants to hear, or did. Guarded by the resources. */
    private static final class Resource {
        private final Set<Subscription> by = new HashSet<>();
        /** Completes when the backend has said whether it tells of the resource to those who ask for that now. */
        private CompletableFuture<Boolean> agreed = new CompletableFuture<>();
        /** Whether the backend tells of it. */
        private boolean told;
        /** Whether the backend was asked to tell of it, or not to, and has not answered. */
        private boolean asking;
    }

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

    /** Wants to hear of changes of a resource; completes with whether the backend tells of them. */
    CompletionStage<Boolean> subscribe(Subscription subscription, String uri) {
        CompletionStage<Boolean> agreed;
        synchronized (resources) {
            Resource resource = resources.computeIfAbsent(uri, any -> new Resource());
            resource.by.add(subscription);
            agreed = resource.told && !resource.asking
                    ? CompletableFuture.completedFuture(true)
                    : resource.agreed.copy();
        }
        settle(uri);
        return agreed;
    }

    /** Does not want to hear of it any more. */
    void unsubscribe(Subscription subscription, String uri) {
        synchronized (resources) {
            Resource resource = resources.get(uri);
            if (resource == null || !resource.by.remove(subscription)) {
                return;
            }
        }
        settle(uri);
    }

    /** Asks the backend for what is wanted, if that is something else than what it does; one thing at a time, so that none is overtaken. */
    private void settle(String uri) {
        Resource resource;
        boolean wanted;
        synchronized (resources) {
            resource = resources.get(uri);
            if (resource == null || resource.asking) {
                return;
            }
            wanted = !resource.by.isEmpty();
            if (wanted == resource.told) {
                resources.computeIfPresent(uri, (any, there) -> wanted ? there : null);
                return;
            }
            resource.asking = true;
        }
        carrier.ask(wanted ? "resources/subscribe" : "resources/unsubscribe", uri)
                .whenComplete((done, failure) -> {
                    Carrier.logged("asked", failure);
                    boolean tells = wanted && failure == null && done;
                    CompletableFuture<Boolean> waiting;
                    synchronized (resources) {
                        resource.asking = false;
                        resource.told = tells;
                        waiting = resource.agreed;
                        if (wanted) {
                            resource.agreed = new CompletableFuture<>();
                        }
                        if (wanted && !tells) {
                            resource.by.clear();
                        }
                    }
                    if (wanted) {
                        waiting.complete(tells);
                    }
                    settle(uri);
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

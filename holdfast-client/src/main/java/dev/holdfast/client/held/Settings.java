package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/** What an application has set in its session, so that it can be set again in another: its log level and its subscriptions. Thread-safe. */
final class Settings {
    /** Requests that do no more harm the second time. */
    static final Set<String> METHODS = Set.of("logging/setLevel", "resources/subscribe", "resources/unsubscribe");

    /** So many subscriptions are remembered; a client with more than this has them at the first server only. */
    private static final int MOST = 10_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Envelope> subscriptions = new LinkedHashMap<>();
    private Optional<Envelope> level = Optional.empty();

    /** A request was answered with a result. */
    void accepted(Envelope request) {
        lock.lock();
        try {
            switch (request.method()) {
                case "logging/setLevel" -> level = Optional.of(request);
                case "resources/subscribe" ->
                    request.uri()
                            .filter(uri -> subscriptions.size() < MOST)
                            .ifPresent(uri -> subscriptions.put(uri, request));
                case "resources/unsubscribe" -> request.uri().ifPresent(subscriptions::remove);
                default -> {
                    // nothing that lasts
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** The requests that set everything again. */
    List<Envelope> requests() {
        lock.lock();
        try {
            List<Envelope> requests = new ArrayList<>(subscriptions.values());
            level.ifPresent(requests::add);
            return requests;
        } finally {
            lock.unlock();
        }
    }

    /** The resources that are subscribed to. */
    List<String> subscribed() {
        lock.lock();
        try {
            return List.copyOf(subscriptions.keySet());
        } finally {
            lock.unlock();
        }
    }

    /** A new session of the application's own has nothing set. */
    void clear() {
        lock.lock();
        try {
            subscriptions.clear();
            level = Optional.empty();
        } finally {
            lock.unlock();
        }
    }
}

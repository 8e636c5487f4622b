package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A store with a session that nodes have joined, in which nothing can be fenced while the test says so. */
final class BrokenFences {
    static final SessionKey KEY = SessionKey.of("0123456789abcdef0123456789abcdef", "");
    private static final SessionRecord RECORD = new SessionRecord(
            1, SessionRecord.SESSION, "", Long.MAX_VALUE, SessionRecord.NO_EXTENSION, "", Map.of(), Map.of());

    private final SharedSessionStore store;
    /** The store as nodes reach it. */
    final SharedSessionStore reached;
    /** Whether the next fence throws an error, as where a class is missing. */
    boolean breaks;

    BrokenFences(SharedSessionStore store) {
        this.store = store;
        this.reached = (SharedSessionStore) Proxy.newProxyInstance(
                SharedSessionStore.class.getClassLoader(),
                new Class<?>[] {SharedSessionStore.class},
                (proxy, method, args) -> {
                    if (method.getName().equals("fence") && breaks) {
                        breaks = false;
                        throw new NoClassDefFoundError("expected");
                    }
                    try {
                        return method.invoke(store, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        store.create(KEY, new Epoch(1, 1), RECORD, "first")
                .toCompletableFuture()
                .join();
    }

    /** A node joins the session; returns its part. */
    Membership join(String node, int nonce) {
        Optional<SharedSessionStore.Joined> joined =
                store.join(KEY, nonce, node).toCompletableFuture().join();
        return new Membership(node, joined.orElseThrow().claim().epoch(), 0, RECORD);
    }

    /** The nodes that have joined, one for each epoch. */
    List<String> members() {
        return store.members(KEY).toCompletableFuture().join().stream()
                .map(Member::node)
                .toList();
    }

    List<Epoch> epochs() {
        return store.members(KEY).toCompletableFuture().join().stream()
                .map(Member::epoch)
                .toList();
    }
}

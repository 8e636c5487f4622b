package dev.holdfast.gateway;

import java.util.ArrayDeque;
import java.util.Deque;

/** What a test has opened: ends with it, the newest first. */
final class Opened implements AutoCloseable {
    private final Deque<AutoCloseable> all = new ArrayDeque<>();

    <T extends AutoCloseable> T add(T it) {
        all.push(it);
        return it;
    }

    @Override
    public void close() throws Exception {
        while (!all.isEmpty()) {
            all.pop().close();
        }
    }
}

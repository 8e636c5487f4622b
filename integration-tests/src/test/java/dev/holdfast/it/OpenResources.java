package dev.holdfast.it;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;

/** What a test has opened. It is closed from the newest to the oldest, whatever fails meanwhile. */
final class OpenResources implements AutoCloseable {
    private final Deque<AutoCloseable> open = new ConcurrentLinkedDeque<>();

    /** Takes one that is to be closed with the others, and returns it. */
    <T extends AutoCloseable> T add(T resource) {
        open.push(resource);
        return resource;
    }

    @Override
    public void close() throws Exception {
        AutoCloseable newest = open.poll();
        if (newest != null) {
            try {
                newest.close();
            } finally {
                close();
            }
        }
    }
}

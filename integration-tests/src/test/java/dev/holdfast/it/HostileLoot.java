package dev.holdfast.it;

import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** What hostile clients have learned, and use where it does not belong: the newest ids of sessions and of events. */
final class HostileLoot {
    private final Shelf sessions = new Shelf("k3tKx0V8qkO4dGq0kUe3sg");
    private final Shelf sseSessions = new Shelf("V8qkO4dGq0kUe3sgk3tKx0");
    private final Shelf events = new Shelf("1.0.1.1y2p0ij.1");

    /** The newest of one kind; older ones are forgotten. */
    private static final class Shelf {
        private static final int SIZE = 32;

        private final AtomicReferenceArray<String> items = new AtomicReferenceArray<>(SIZE);
        private final AtomicInteger next = new AtomicInteger();

        private Shelf(String first) {
            for (int i = 0; i < SIZE; i++) {
                items.set(i, first);
            }
        }

        private void add(String item) {
            items.set(Math.floorMod(next.getAndIncrement(), SIZE), item);
        }

        private String any(SplittableRandom random) {
            return items.get(random.nextInt(SIZE));
        }
    }

    void session(String id) {
        sessions.add(id);
    }

    void sseSession(String id) {
        sseSessions.add(id);
    }

    void event(String id) {
        events.add(id);
    }

    String session(SplittableRandom random) {
        return sessions.any(random);
    }

    String sseSession(SplittableRandom random) {
        return sseSessions.any(random);
    }

    String event(SplittableRandom random) {
        return events.any(random);
    }
}

package dev.holdfast.servlet.console;

import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.SessionLifecycleListener;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The last thousand things that happened to sessions. A flood of one kind leaves room for others: beyond five of it in a second, all
 * become one entry that counts. Safe for use by any thread; what is added costs the same however many there are.
 */
public final class ConsoleFeed {
    private static final int MOST = 1_000;
    private static final int ALONE = 5;
    private static final long SECOND = 1_000;

    private final InstantSource clock;
    private final long life;
    private final Deque<Entry> entries = new ArrayDeque<>();
    private final Map<Kind, Burst> bursts = new HashMap<>();
    private long second;
    private long last;
    private Map<Subject, String> owners = Map.of();

    /** A session, as people name it. */
    record Subject(String server, String shortId) {}

    /** @param word what happened, as the page sorts it, with few values */
    private record Kind(String server, String word, String text) {}

    /** How many there were in this second. */
    private static final class Burst {
        private int count;
        /** What counts those beyond the first. */
        private @Nullable Entry rest;
    }

    /** One of them, or how many more of its kind there were in that second: then it names no session. */
    static final class Entry {
        final long number;
        final long at;
        final Subject subject;
        final String word;
        final String text;
        final String detail;
        /** Whether it counts those that came after the first of their kind. */
        final boolean rest;

        private int count = 1;
        private Optional<String> owner;
        /** The last number that there was when its owner became known later than it happened; else 0. */
        private long known;

        private Entry(
                long number, long at, Subject subject, Kind kind, String detail, boolean rest, Optional<String> owner) {
            this.number = number;
            this.at = at;
            this.subject = subject;
            this.word = kind.word;
            this.text = kind.text;
            this.detail = detail;
            this.rest = rest;
            this.owner = owner;
        }

        /** As it is now: it may count on. */
        private Seen seen() {
            return new Seen(this, count, owner);
        }
    }

    /**
     * An entry as it was at one moment.
     *
     * @param owner whose session it is about; empty where that is not known, or it is about none
     */
    record Seen(Entry entry, int count, Optional<String> owner) {}

    /** An empty one, dated by this clock. */
    public ConsoleFeed(InstantSource clock) {
        this.clock = clock;
        this.life = clock.millis();
        add("", "", "started", "the server has started", "");
    }

    /** When it began: its numbers are good for this life only. */
    long life() {
        return life;
    }

    /** Hears of the sessions of a server. */
    public SessionLifecycleListener of(String server) {
        return new Listener(server);
    }

    private synchronized void add(String server, String sessionId, String word, String text, String detail) {
        long now = clock.millis();
        if (now / SECOND != second) {
            second = now / SECOND;
            bursts.clear();
        }
        Kind kind = new Kind(server, word, text);
        Burst burst = bursts.computeIfAbsent(kind, first -> new Burst());
        burst.count++;
        Entry rest = burst.rest;
        if (rest != null) {
            rest.count++;
            return;
        }
        boolean counts = burst.count > ALONE;
        Subject subject = new Subject(server, counts ? "" : Console.shortened(sessionId));
        Entry next = new Entry(++last, now, subject, kind, detail, counts, Optional.ofNullable(owners.get(subject)));
        burst.rest = counts ? next : null;
        entries.addLast(next);
        if (entries.size() > MOST) {
            entries.removeFirst();
        }
    }

    /** Whose the sessions are that there are now; those that have ended keep the owner that they had. */
    synchronized void owners(Map<Subject, String> now) {
        owners = now;
        for (Entry entry : entries) {
            String owner = entry.owner.isEmpty() ? now.get(entry.subject) : null;
            if (owner != null) {
                entry.owner = Optional.of(owner);
                entry.known = last;
            }
        }
    }

    /** What happened after the entry of a number, what may have counted on since, and whose owner was not known then, in order. */
    synchronized List<Seen> after(long number) {
        long counting = clock.millis() - 5 * SECOND;
        return entries.stream()
                .filter(entry -> entry.number > number
                        || (entry.known > 0 && entry.known >= number)
                        || (entry.rest && entry.at >= counting))
                .map(Entry::seen)
                .toList();
    }

    /** Puts what an engine tells into words. */
    private final class Listener implements SessionLifecycleListener {
        private final String server;

        private Listener(String server) {
            this.server = server;
        }

        private void tell(String sessionId, String word, String text) {
            add(server, sessionId, word, text, "");
        }

        @Override
        public void onSessionCreated(String sessionId) {
            tell(sessionId, "opened", "opened");
        }

        @Override
        public void onSessionDetached(String sessionId, Duration grace) {
            tell(sessionId, "drop", "connection broke; it waits for its client");
        }

        @Override
        public void onSessionReconnected(String sessionId) {
            tell(sessionId, "resumed", "its client is back");
        }

        @Override
        public void onSessionRestored(String sessionId) {
            tell(sessionId, "restart", "got a fresh backend, and goes on");
        }

        @Override
        public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
            if (outcome != RestoreOutcome.RESTORED) {
                tell(sessionId, "failed", "got no fresh backend: " + word(outcome));
            }
        }

        @Override
        public void onBackendChanged(String sessionId) {
            tell(sessionId, "changed", "its backend is not what it was before");
        }

        @Override
        public void onBackendReleased(String sessionId) {
            tell(sessionId, "released", "its backend made room for another");
        }

        @Override
        public void onSessionParked(String sessionId) {
            tell(sessionId, "parked", "parked: it waits in the store");
        }

        @Override
        public void onSessionClosed(String sessionId, EndReason reason) {
            tell(
                    sessionId,
                    reason.advice() == EndReason.Advice.START_OVER && isTrouble(reason) ? "failed" : "ended",
                    reason.text());
        }

        @Override
        public void onGap(String sessionId, String stream) {
            add(server, sessionId, "gap", "its client missed messages", "stream " + stream);
        }

        @Override
        public void onCallTimedOut(String sessionId) {
            tell(sessionId, "timeout", "a call ran for too long");
        }

        @Override
        public void onTask(String sessionId, TaskEvent event) {
            tell(sessionId, "task", "task: " + word(event));
        }

        @Override
        public void onRefused(Refusal reason) {
            tell("", "refused", reason.text());
        }

        private static boolean isTrouble(EndReason reason) {
            return switch (reason) {
                case OVERFLOW, RESTORE_FAILED, STORE_FAILED -> true;
                default -> false;
            };
        }

        private static String word(Enum<?> value) {
            return value.name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }
}

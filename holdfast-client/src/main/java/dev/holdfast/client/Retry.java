package dev.holdfast.client;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Tries one thing again until it succeeds, its policy gives up, or it is stopped; tells the outage of the session. */
final class Retry {
    private final RemoteServer server;
    private final OutageState outage;
    private final Runnable attempt;
    private final AtomicBoolean away = new AtomicBoolean();
    /** Made when something fails: most of what is tried succeeds at once. */
    private volatile @Nullable RetryPolicy policy;

    private volatile boolean stopped;
    private volatile @Nullable Future<?> pending;

    /**
     * Counts the broken connections of a session, so that its watch hears when the first one breaks and when all are back. If the last one
     * is given up, the outage ends when the server is reached the next time. Thread-safe.
     */
    static final class OutageState {
        private final SessionWatch watch;
        private int broken;
        private volatile boolean away;
        private boolean ended;
        private long since;

        OutageState(SessionWatch watch) {
            this.watch = watch;
        }

        /** A connection broke, and is tried again. */
        void broke(Throwable cause) {
            synchronized (this) {
                if (broken++ > 0 || away || ended) {
                    return;
                }
                away = true;
                since = System.nanoTime();
            }
            watch.reconnecting(cause);
        }

        /** The session is ended on this side: what breaks from now on is not told. */
        synchronized void end() {
            ended = true;
        }

        void back() {
            givenUp();
            reached();
        }

        synchronized void givenUp() {
            broken--;
        }

        void reached() {
            if (!away) {
                return;
            }
            Duration lasted;
            synchronized (this) {
                if (broken > 0 || !away) {
                    return;
                }
                away = false;
                lasted = Duration.ofNanos(System.nanoTime() - since);
            }
            watch.resumed(lasted);
        }
    }

    Retry(RemoteServer server, OutageState outage, Runnable attempt) {
        this.server = server;
        this.outage = outage;
        this.attempt = attempt;
    }

    void connected() {
        if (away.compareAndSet(true, false)) {
            outage.back();
        } else {
            outage.reached();
        }
    }

    /** It works: the next failure is the first one. */
    void succeeded() {
        RetryPolicy tried = policy;
        if (tried != null) {
            tried.succeeded();
        }
    }

    /**
     * It works, and is to be tried again when the server wants it.
     *
     * @param stated how many milliseconds the server wants to be left alone
     * @param broughtAny whether it brought anything
     */
    void poll(long stated, boolean broughtAny) {
        schedule(policy().polled(stated, broughtAny));
    }

    /** It failed because of this; the watch hears of it. */
    void broke(Throwable cause) {
        if (!stopped && away.compareAndSet(false, true)) {
            outage.broke(cause);
            if (stopped) {
                settle();
            }
        }
    }

    /**
     * Tries again later.
     *
     * @param stated how many milliseconds the server wants to be left alone
     * @return false if the policy gives up
     */
    boolean again(long stated) {
        OptionalLong wait = policy().failed(stated);
        if (wait.isEmpty()) {
            stop();
            return false;
        }
        schedule(wait.getAsLong());
        return true;
    }

    private RetryPolicy policy() {
        RetryPolicy tried = policy;
        if (tried == null) {
            tried = server.retryPolicy(outage.watch);
            policy = tried;
        }
        return tried;
    }

    private void schedule(long millis) {
        if (!stopped) {
            pending = server.later(millis, this::attempt);
            if (stopped) {
                cancel();
            }
        }
    }

    private void attempt() {
        if (!stopped) {
            attempt.run();
        }
    }

    /** Tries no more, be it done or given up. */
    void stop() {
        stopped = true;
        cancel();
        settle();
    }

    private void settle() {
        if (away.compareAndSet(true, false)) {
            outage.givenUp();
        }
    }

    private void cancel() {
        Future<?> waiting = pending;
        if (waiting != null) {
            waiting.cancel(false);
        }
    }
}

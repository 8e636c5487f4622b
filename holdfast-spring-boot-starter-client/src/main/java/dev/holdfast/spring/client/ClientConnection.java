package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.ClientListener;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What became of one connection so far. Thread-safe. */
public final class ClientConnection implements ClientListener {
    /** An outage that is not over. */
    public record Outage(Instant since, Throwable cause) {}

    private final AtomicLong reconnects = new AtomicLong();
    private final AtomicLong gaps = new AtomicLong();
    private final AtomicLong sessionsReplaced = new AtomicLong();
    private volatile @Nullable Outage outage;

    ClientConnection() {}

    @Override
    public void onReconnecting(Throwable cause) {
        reconnects.incrementAndGet();
        outage = new Outage(Instant.now(), cause);
    }

    @Override
    public void onResumed(Duration away) {
        outage = null;
    }

    @Override
    public void onGap() {
        gaps.incrementAndGet();
    }

    @Override
    public void onSessionReplaced() {
        sessionsReplaced.incrementAndGet();
        outage = null;
    }

    /** What is broken now; empty if nothing is known to be. */
    public Optional<Outage> outage() {
        return Optional.ofNullable(outage);
    }

    /** How often the connection broke. */
    public long reconnects() {
        return reconnects.get();
    }

    /** How often notifications were missing, or may have been. */
    public long gaps() {
        return gaps.get();
    }

    /** How often the server had lost the session. */
    public long sessionsReplaced() {
        return sessionsReplaced.get();
    }
}

package dev.holdfast.mcp;

import dev.holdfast.CallListener;
import dev.holdfast.NoStore;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.SessionStore;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;

/** The engine's options on their way. */
final class EngineKnobs {
    private SessionStore store = new NoStore();
    private Duration parkAfter = Duration.ofMinutes(10);
    private String nodeName = "node";
    private Duration lease = Duration.ofSeconds(3);
    private SessionLimits limits = SessionLimits.DEFAULT;
    private NodeLimits nodeLimits = NodeLimits.DEFAULT;
    private SessionLifecycleListener sessions = SessionLifecycleListener.NONE;
    private CallListener calls = CallListener.NONE;

    /** An engine for a backend. */
    SessionEngine build(Backend backend) {
        return SessionEngine.builder(new HintedBackend(backend), JsonRpc.MESSAGES)
                .store(store)
                .parkAfter(parkAfter)
                .nodeName(nodeName)
                .lease(lease)
                .limits(limits)
                .nodeLimits(nodeLimits)
                .listener(sessions)
                .callListener(calls)
                .build();
    }

    void store(SessionStore value) {
        store = Objects.requireNonNull(value, "store");
    }

    void parkAfter(Duration value) {
        if (isOutside(value, Duration.ofSeconds(10), Duration.ofDays(365))) {
            throw new IllegalArgumentException("parkAfter must be 10 seconds to 365 days, got " + value);
        }
        parkAfter = value;
    }

    void nodeName(String value) {
        if (!value.matches("[A-Za-z0-9._-]{1,64}")) {
            throw new IllegalArgumentException(
                    "nodeName must be 1 to 64 letters, digits, dots, dashes and underscores, got " + value);
        }
        nodeName = value;
    }

    void lease(Duration value) {
        if (isOutside(value, Duration.ofMillis(500), Duration.ofMinutes(5))) {
            throw new IllegalArgumentException("lease must be 500 ms to 5 minutes, got " + value);
        }
        lease = value;
    }

    private static boolean isOutside(Duration value, Duration least, Duration most) {
        return value.compareTo(least) < 0 || value.compareTo(most) > 0;
    }

    void limits(SessionLimits value) {
        limits = Objects.requireNonNull(value, "historyLimits");
    }

    NodeLimits nodeLimits() {
        return nodeLimits;
    }

    void nodeLimits(NodeLimits value) {
        nodeLimits = Objects.requireNonNull(value, "nodeLimits");
    }

    void sessions(SessionLifecycleListener value) {
        sessions = Objects.requireNonNull(value, "sessionLifecycleListener");
    }

    /** How the context of a request is made, for the backend and for who follows calls. */
    Function<HttpServletRequest, Object> context(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return OriginContext.of(extractor, calls.headers());
    }

    void calls(CallListener value) {
        calls = Objects.requireNonNull(value, "callListener");
    }
}

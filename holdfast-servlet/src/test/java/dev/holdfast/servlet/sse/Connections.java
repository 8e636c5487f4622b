package dev.holdfast.servlet.sse;

import dev.holdfast.StreamReader;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.io.EdgeClock;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/** Connections whose response goes nowhere: tests look at what they compose. */
final class Connections {
    private static final SseConnections OPEN = new SseConnections(
            new EdgeClock(() -> 0, new ScheduledThreadPoolExecutor(0)),
            Duration.ofSeconds(1),
            Duration.ofSeconds(2),
            Duration.ZERO,
            Duration.ofSeconds(30),
            stall -> {});

    private Connections() {}

    /** The connection of a client that has come by a GET. */
    static SseConnection of(StreamReader reader, Framing framing) {
        BlockingPool none = new BlockingPool("none", 1);
        try {
            SseChannel channel = new SseChannel(
                    silent(HttpServletRequest.class), silent(HttpServletResponse.class), framing, () -> {}, none, none);
            return new SseConnection(channel, reader, framing, OPEN, null, null);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static <T> T silent(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> null));
    }
}

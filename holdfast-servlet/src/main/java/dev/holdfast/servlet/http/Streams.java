package dev.holdfast.servlet.http;

import dev.holdfast.StreamReader;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.servlet.sse.ConnectionClock;
import dev.holdfast.servlet.sse.ServletSseChannel;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseSource;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers requests with streams.
 *
 * @param reset takes hold of the connection under a request, and returns what resets it
 * @param watch watches the connection under a request, and runs something when its peer ends it
 */
public record Streams(
        ConnectionClock clock,
        Function<HttpServletRequest, Runnable> reset,
        BiConsumer<HttpServletRequest, Runnable> watch) {
    private static final Logger log = LoggerFactory.getLogger(Streams.class);

    /** Opens a connection that is not started yet; empty if that failed: then the reader is closed and the request ended. */
    public Optional<SseConnection> open(
            Exchange exchange, StreamReader reader, Function<StreamReader, SseSource> source) {
        Optional<SseConnection> opened = Optional.empty();
        try {
            SseSource carried = source.apply(reader);
            ServletSseChannel channel = ServletSseChannel.open(
                    exchange.request(),
                    exchange.response(),
                    carried.framing().contentType(),
                    reset.apply(exchange.request()));
            SseConnection connection = new SseConnection(channel, carried, clock);
            opened = Optional.of(connection);
            channel.listen(connection);
            connection.open();
            if (exchange.request().getMethod().equals("GET")) {
                watch.accept(exchange.request(), connection::onBroken);
            }
            return opened;
        } catch (Throwable e) {
            if (opened.isPresent()) {
                // other threads may write to the response by now
                Faults.report(log, "a connection broke before its response began", e);
                opened.get().abort();
                return Optional.empty();
            }
            reader.close(StreamReader.Close.BROKEN);
            if (e instanceof IOException || e instanceof IllegalStateException) {
                Faults.report(log, "a connection broke before its response began", e);
                exchange.answer().end();
            } else {
                exchange.answer().fail(Optional.empty(), e);
            }
            return Optional.empty();
        }
    }
}

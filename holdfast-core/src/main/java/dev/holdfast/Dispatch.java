package dev.holdfast;

import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hands the requests of a call to the backend; those that were cancelled or answered meanwhile stay here. */
final class Dispatch implements BackendSlot.User {
    private static final Logger logger = LoggerFactory.getLogger(Dispatch.class);

    private final LiveSession session;
    private final LiveCall call;
    private List<LiveCall.Sink> handed = List.of();

    Dispatch(LiveSession session, LiveCall call) {
        this.session = session;
        this.call = call;
    }

    @Override
    public long bytes() {
        return call.sinks().stream()
                .mapToLong(sink -> sink.request().bytes().length)
                .sum();
    }

    @Override
    public void handedTo(int life) {
        handed = call.hand(life);
    }

    @Override
    public void use(BackendConnection connection) {
        handed.forEach(sink -> start(connection, sink));
    }

    @Override
    public void refused(String cause) {
        call.sinks().forEach(sink -> session.fail(sink, cause));
    }

    private void start(BackendConnection connection, LiveCall.Sink sink) {
        if (!session.locked(sink::open)) {
            return;
        }
        InboundMessage request = sink.request();
        session.locked(sink::handedOver);
        try {
            connection.call(request, sink);
        } catch (Throwable e) {
            logger.error("session {}: the backend failed on {}", session.shortId(), request.method(), e);
            session.fail(sink, "internal error");
        }
    }
}

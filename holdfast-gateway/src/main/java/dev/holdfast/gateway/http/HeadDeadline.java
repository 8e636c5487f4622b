package dev.holdfast.gateway.http;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.component.AbstractLifeCycle;
import org.eclipse.jetty.util.thread.Scheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds how long a connection of HTTP/1 may take for a request's head, from its first byte on. Jetty's idle timeout begins again
 * with every byte, so that a client which drips would keep its connection for ever. For as long as no byte comes, a connection is
 * left to the idle timeout.
 */
final class HeadDeadline extends AbstractLifeCycle implements Connection.Listener, HttpConfiguration.Customizer {
    private static final Logger log = LoggerFactory.getLogger(HeadDeadline.class);
    private static final long LOOK_MILLIS = 500;

    private final Scheduler scheduler;
    private final long nanos;
    /** Every open connection and what it does. */
    private final Map<Connection, Turn> turns = new ConcurrentHashMap<>();

    private enum Phase {
        /** No byte of the next head has come; {@link Turn#mark} is how many came before. */
        QUIET,
        /** A head has begun to come; {@link Turn#mark} is when. */
        HEAD,
        /** A request is served. */
        SERVING
    }

    /** What a connection does; each is one of its own, so that what comes late changes nothing. */
    private static final class Turn {
        private final Phase phase;
        private final long mark;

        private Turn(Phase phase, long mark) {
            this.phase = phase;
            this.mark = mark;
        }

        private static Turn quiet(Connection connection) {
            return new Turn(Phase.QUIET, connection.getBytesIn());
        }
    }

    private HeadDeadline(Scheduler scheduler, Duration limit) {
        this.scheduler = scheduler;
        this.nanos = limit.toNanos();
    }

    /** Has a connector that is not started yet keep to a limit. */
    static void set(ServerConnector connector, Duration limit) {
        HeadDeadline deadline = new HeadDeadline(connector.getScheduler(), limit);
        connector
                .getConnectionFactory(HttpConnectionFactory.class)
                .getHttpConfiguration()
                .addCustomizer(deadline);
        connector.addBean(deadline);
    }

    @Override
    protected void doStart() {
        lookLater();
    }

    private void lookLater() {
        scheduler.schedule(this::look, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void look() {
        if (!isRunning()) {
            return;
        }
        long now = System.nanoTime();
        turns.forEach((connection, turn) -> {
            if (turn.phase == Phase.QUIET && connection.getBytesIn() != turn.mark) {
                turns.replace(connection, turn, new Turn(Phase.HEAD, now));
            } else if (turn.phase == Phase.HEAD && now - turn.mark >= nanos && turns.remove(connection, turn)) {
                log.debug("a connection took too long for the head of a request");
                connection.getEndPoint().close();
            }
        });
        lookLater();
    }

    @Override
    public void onOpened(Connection connection) {
        turns.put(connection, Turn.quiet(connection));
    }

    @Override
    public void onClosed(Connection connection) {
        turns.remove(connection);
    }

    /** Called when a head is whole. */
    @Override
    public Request customize(Request request, HttpFields.Mutable responseHeaders) {
        Connection connection = request.getConnectionMetaData().getConnection();
        Turn busy = new Turn(Phase.SERVING, 0);
        if (turns.replace(connection, busy) != null) {
            Request.addCompletionListener(request, failure -> turns.replace(connection, busy, Turn.quiet(connection)));
        }
        return request;
    }
}

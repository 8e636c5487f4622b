package dev.holdfast.spring.autoconfigure;

import dev.holdfast.EngineStats;
import dev.holdfast.SessionDescription;
import dev.holdfast.SessionState;
import dev.holdfast.Termination;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.mcp.HoldfastTransportProvider;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * The sessions in memory, and what was counted. {@code DELETE} with the shortened id of a session ends it. No whole id is shown: it is
 * a credential.
 */
@Endpoint(id = "holdfast")
public final class HoldfastEndpoint {
    private static final int ACCEPTED = 202;
    private static final int CONFLICT = 409;
    /** How long the operator waits for the store. */
    private static final long STORE_SECONDS = 5;

    private static final int SHOWN = 100;
    private static final int MOST_SHOWN = 10_000;

    private final SessionEngine engine;
    private final HoldfastTransportProvider transport;

    /** Shows a transport. */
    public HoldfastEndpoint(HoldfastTransportProvider transport) {
        this.transport = transport;
        this.engine = transport.engine();
    }

    /**
     * What there is.
     *
     * @param limit how many sessions are shown at most, 0 to 10,000; 100 without it
     */
    @ReadOperation
    public Overview overview(
            // Spring Boot 3 does not know the other one
            @org.springframework.lang.Nullable @Nullable Integer limit) {
        int most = limit == null ? SHOWN : limit;
        if (most < 0 || most > MOST_SHOWN) {
            throw new InvalidEndpointRequestException(
                    "limit must be 0 to " + MOST_SHOWN + ", got " + most, "limit is out of its range");
        }
        return new Overview(
                engine.sessions().limit(most).map(View::of).toList(), transport.openConnections(), engine.stats());
    }

    /**
     * Ends a session for good.
     *
     * @param session the first eight characters of its id
     * @return 204; 202 if it has ended, and the store could not forget it yet; 404 if there is none in memory; 409 if there are several
     */
    @DeleteOperation
    public WebEndpointResponse<Void> end(@Selector String session) {
        int status = engine.terminate(session)
                .thenApply(HoldfastEndpoint::status)
                .exceptionally(failure -> ACCEPTED)
                .toCompletableFuture()
                .completeOnTimeout(ACCEPTED, STORE_SECONDS, TimeUnit.SECONDS)
                .join();
        return new WebEndpointResponse<>(status);
    }

    private static int status(Termination termination) {
        return switch (termination) {
            case ENDED -> WebEndpointResponse.STATUS_NO_CONTENT;
            case UNKNOWN -> WebEndpointResponse.STATUS_NOT_FOUND;
            case AMBIGUOUS -> CONFLICT;
        };
    }

    /**
     * What there is.
     *
     * @param sessions sessions in memory, in no order; {@code stats} tells how many there are
     * @param streams open connections
     * @param stats what all sessions hold, and what was counted
     */
    public record Overview(List<View> sessions, int streams, EngineStats stats) {}

    /**
     * A session.
     *
     * @param id the first eight characters of its id
     * @param state where it is in its life
     * @param revision the revision it speaks
     * @param principal whose session it is, empty for nobody in particular
     * @param ageSeconds how long it has been in memory
     * @param streams connections that read one of its streams
     * @param keptBytes bytes that it keeps
     * @param keptMessages messages that it keeps for its client
     * @param runningCalls requests that run
     */
    public record View(
            String id,
            SessionState state,
            String revision,
            String principal,
            long ageSeconds,
            int streams,
            long keptBytes,
            long keptMessages,
            int runningCalls) {
        static View of(SessionDescription session) {
            return new View(
                    session.shortId(),
                    session.state(),
                    session.revision(),
                    session.principal(),
                    session.age().toSeconds(),
                    session.streams(),
                    session.keptBytes(),
                    session.keptMessages(),
                    session.runningCalls());
        }
    }
}

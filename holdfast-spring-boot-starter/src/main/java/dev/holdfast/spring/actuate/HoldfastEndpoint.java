package dev.holdfast.spring.actuate;

import dev.holdfast.EngineStats;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.mcp.HoldfastTransportProvider;
import java.util.List;
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
    private static final int CONFLICT = 409;

    private final OpenSessions sessions;
    private final HoldfastTransportProvider transport;

    /** Shows a transport. */
    public HoldfastEndpoint(HoldfastTransportProvider transport) {
        this.transport = transport;
        this.sessions = new OpenSessions(transport.engine());
    }

    /** What there is. */
    @ReadOperation
    public Overview overview() {
        return new Overview(
                sessions.all().stream().map(View::of).toList(),
                transport.openConnections(),
                transport.engine().stats());
    }

    /**
     * Ends a session for good.
     *
     * @param session the first eight characters of its id
     * @return 204; 404 if there is none in memory; 409 if there are several
     */
    @DeleteOperation
    public WebEndpointResponse<Void> end(@Selector String session) {
        List<Session> found = sessions.named(session);
        if (found.size() == 1) {
            found.get(0).terminate();
        }
        return new WebEndpointResponse<>(
                switch (found.size()) {
                    case 0 -> WebEndpointResponse.STATUS_NOT_FOUND;
                    case 1 -> WebEndpointResponse.STATUS_NO_CONTENT;
                    default -> CONFLICT;
                });
    }

    /**
     * What there is.
     *
     * @param sessions the sessions in memory that are initialized
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
     */
    public record View(String id, SessionState state, String revision) {
        static View of(Session session) {
            return new View(session.shortId(), session.state(), session.revision());
        }
    }
}

package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.console.Console;
import dev.holdfast.servlet.console.ConsoleFeed;
import dev.holdfast.servlet.console.ConsolePage;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;

/**
 * A page that shows sessions, their streams, and what happens to them, and ends sessions. Who may see it is decided as for other endpoints,
 * and sees the sessions of all principals.
 */
@WebEndpoint(id = "holdfastconsole")
public final class ConsoleEndpoint {
    private static final String DATA = "data";
    private static final String SESSION = "session";
    private static final int ACCEPTED = 202;
    private static final int CONFLICT = 409;
    /** How long the operator waits for the store. */
    private static final long STORE_SECONDS = 5;

    private static final Console.Viewer OPERATOR = new Console.Viewer("", true);

    private final Console console;

    /** Shows a transport, whose sessions the feed hears of. */
    public ConsoleEndpoint(HoldfastTransportProvider transport, ConsoleFeed feed, String node) {
        Console.Server server = new Console.Server(
                "",
                "this application",
                transport.engine().sharesSessions() ? node : "",
                transport.engine(),
                "survives "
                        + transport
                                .engine()
                                .durability()
                                .name()
                                .toLowerCase(Locale.ROOT)
                                .replace('_', ' '),
                () -> transport.engine().storeTrouble().orElse(""),
                Optional::empty);
        this.console =
                new Console(() -> List.of(server), viewer -> Map.of(), feed, InstantSource.system(), System::nanoTime);
    }

    /** The page, without any data. */
    @ReadOperation(produces = "text/html;charset=UTF-8")
    public String page() {
        return ConsolePage.HTML;
    }

    /** What the page asks for, {@code data}, as JSON. */
    @ReadOperation(produces = "application/json")
    public WebEndpointResponse<String> data(
            @Selector String part,
            // Spring Boot 3 does not know the other one
            @org.springframework.lang.Nullable @Nullable String after,
            @org.springframework.lang.Nullable @Nullable String from,
            @org.springframework.lang.Nullable @Nullable String rows,
            @org.springframework.lang.Nullable @Nullable String search,
            @org.springframework.lang.Nullable @Nullable String state,
            @org.springframework.lang.Nullable @Nullable String order,
            @org.springframework.lang.Nullable @Nullable String session) {
        if (!part.equals(DATA)) {
            return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
        }
        Map<String, @Nullable String> asked = new HashMap<>();
        asked.put("after", after);
        asked.put("from", from);
        asked.put("rows", rows);
        asked.put("search", search);
        asked.put("state", state);
        asked.put("order", order);
        asked.put("session", session);
        asked.values().removeIf(value -> value == null);
        return console.data(OPERATOR, asked)
                .map(data -> new WebEndpointResponse<>(data))
                .orElseGet(() -> new WebEndpointResponse<>(WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE));
    }

    /**
     * Ends a session for good, at {@code session}.
     *
     * @return 204; 202 if it has ended, and the store could not forget it yet; 404 if there is none; 409 if there are several
     */
    @DeleteOperation
    public WebEndpointResponse<Void> end(
            @Selector String part, @org.springframework.lang.Nullable @Nullable String session) {
        if (!part.equals(SESSION) || session == null) {
            return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
        }
        int status = console.end(OPERATOR, "", session)
                .thenApply(termination -> switch (termination) {
                    case ENDED -> WebEndpointResponse.STATUS_NO_CONTENT;
                    case UNKNOWN -> WebEndpointResponse.STATUS_NOT_FOUND;
                    case AMBIGUOUS -> CONFLICT;
                })
                .exceptionally(failure -> ACCEPTED)
                .toCompletableFuture()
                .completeOnTimeout(ACCEPTED, STORE_SECONDS, TimeUnit.SECONDS)
                .join();
        return new WebEndpointResponse<>(status);
    }
}

package dev.holdfast.client;

import java.net.http.HttpRequest;
import java.util.Optional;

/**
 * How HTTP requests to a server look.
 *
 * @param template each request starts as a copy of this
 * @param customizer adds to each
 * @param authorization is asked when the server wants credentials
 * @param revision stands in {@code MCP-Protocol-Version} until a revision is negotiated
 */
public record Requests(
        HttpRequest.Builder template,
        RequestCustomizer customizer,
        AuthorizationHandler authorization,
        Optional<String> revision) {
    /** Requests with what the protocol wants and nothing else. */
    public static final Requests PLAIN =
            new Requests(HttpRequest.newBuilder(), RequestCustomizer.NONE, AuthorizationHandler.NONE, Optional.empty());

    public Requests {
        template = template.copy();
    }

    /** The same with another customizer. */
    public Requests withCustomizer(RequestCustomizer other) {
        return new Requests(template, other, authorization, revision);
    }
}

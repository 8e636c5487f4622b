package dev.holdfast.client.wire;

import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;

/**
 * Which redirects are followed. The JDK's client would follow one to any server, with the credentials and the session id of the request,
 * and would make a GET of a POST; so it is told to follow none.
 */
public enum Redirects {
    /** A redirect is an answer like any. */
    NONE,
    /** Those within the server's origin that keep the method. */
    WITHIN_ORIGIN;

    /** The request that follows a redirect; empty where it is not followed. */
    Optional<HttpRequest> followed(HttpRequest request, int status, HttpHeaders headers) {
        boolean kept = switch (status) {
            case 307, 308 -> true;
            case 301, 302, 303 -> request.method().equals("GET");
            default -> false;
        };
        return kept && this == WITHIN_ORIGIN
                ? headers.firstValue("location").flatMap(location -> at(request, location))
                : Optional.empty();
    }

    private static Optional<HttpRequest> at(HttpRequest request, String location) {
        try {
            URI uri = Origin.resolve(request.uri(), location);
            return Optional.of(uri)
                    .filter(there -> Origin.of(there).equals(Origin.of(request.uri())))
                    .map(there -> HttpRequest.newBuilder(request, (name, value) -> true)
                            .uri(there)
                            .build());
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}

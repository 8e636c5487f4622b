package dev.holdfast.client;

import java.net.http.HttpRequest;
import java.util.Optional;

/**
 * The name under which requests are sent that have none. The JDK's own would be that of a client which fails on the {@code retry:} of
 * a stream, so that servers might not send one.
 */
final class UserAgent {
    private static final String FIELD = "User-Agent";
    private static final String NAME = Optional.ofNullable(
                    UserAgent.class.getPackage().getImplementationVersion())
            .map(version -> "Holdfast/" + version)
            .orElse("Holdfast");

    private UserAgent() {}

    /** The same request with a name, unless it has one. */
    static HttpRequest in(HttpRequest request) {
        return request.headers().firstValue(FIELD).isPresent()
                ? request
                : HttpRequest.newBuilder(request, (name, value) -> true)
                        .setHeader(FIELD, NAME)
                        .build();
    }
}

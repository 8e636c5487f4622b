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

    /** Gives a request this name, which an application may still change. */
    static HttpRequest.Builder addTo(HttpRequest.Builder request) {
        return request.header(FIELD, NAME);
    }

    /** The same request without this name, if the application has added one of its own. */
    static HttpRequest behindOthers(HttpRequest request) {
        return request.headers().allValues(FIELD).size() <= 1
                ? request
                : HttpRequest.newBuilder(
                                request, (field, value) -> !(field.equalsIgnoreCase(FIELD) && value.equals(NAME)))
                        .build();
    }
}

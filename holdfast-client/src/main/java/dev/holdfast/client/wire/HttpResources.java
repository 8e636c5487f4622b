package dev.holdfast.client.wire;

import dev.holdfast.ByteBudget;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;

/**
 * What exchanges are made with.
 *
 * @param http sends and receives
 * @param delivery runs those who take the messages
 * @param due runs what the clock has found due
 * @param clock runs what is due later; its tasks do not block
 * @param redirects which are followed; the HTTP client itself follows none
 * @param room what large messages may take together
 */
public record HttpResources(
        HttpSender http,
        Executor delivery,
        Executor due,
        ScheduledExecutorService clock,
        Redirects redirects,
        ByteBudget room) {
    private static final int COPIES = 3;

    /**
     * Which redirects are followed. The JDK's client would follow one to any server, with the credentials and the session id of the
     * request, and would make a GET of a POST; so it is told to follow none.
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

    /** Where one message at a time takes room. While it grows or is copied it is there three times. */
    ByteBudget.Reader reader(Consumer<IOException> late) {
        return room.reader(COPIES, due, cause -> late.accept(new IOException("the server " + cause)));
    }

    /** The same with another sender. */
    public HttpResources withHttp(HttpSender other) {
        return new HttpResources(other, delivery, due, clock, redirects, room);
    }

    /** The same, whose messages are taken by others. */
    public HttpResources withDelivery(Executor other) {
        return new HttpResources(http, other, due, clock, redirects, room);
    }

    /** The same, with other redirects that are followed. */
    public HttpResources withRedirects(Redirects other) {
        return new HttpResources(http, delivery, due, clock, other, room);
    }

    /** The same, whose large messages share a room. */
    public HttpResources withRoom(ByteBudget other) {
        return new HttpResources(http, delivery, due, clock, redirects, other);
    }
}

package dev.holdfast.client.wire;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.util.concurrent.CompletableFuture;

/** Sends requests over HTTP/1.1 and follows no redirects. Holds no thread while it waits, and keeps connections for the next requests. */
public interface HttpSender {
    /**
     * Sends a request. Its stage completes once the whole answer was taken, or fails where the answer is missing or broken. A stage that
     * is cancelled before breaks the connection.
     *
     * @param request its body, if it has one, is a {@link MarkedBody} or stands in the request as the JDK's client needs it
     * @param answer takes the head, and says who takes the body. What {@code onNext} passes is to be read or copied before it returns:
     *     its memory may be used again then.
     */
    <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer);

    /** Sends by the JDK's client, which was told to follow no redirects. */
    static HttpSender by(HttpClient http) {
        return http::sendAsync;
    }
}

package dev.holdfast.gateway.doctor;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.Requests;
import dev.holdfast.gateway.process.DaemonThreads;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The way to a server.
 *
 * @param uri the endpoint
 * @param requests what each request carries
 * @param open the sessions that are not ended yet
 */
record Way(HttpClient http, URI uri, Requests requests, Set<Visit> open) {
    /** The same by another client. */
    Way by(HttpClient other) {
        return new Way(other, uri, requests, open);
    }

    /** Ends the sessions that are open still, and waits for that, but not for longer. From any thread. */
    void endAll(Duration longest) {
        CompletableFuture.allOf(open.stream()
                        .map(each ->
                                CompletableFuture.runAsync(each::end, DaemonThreads.starting("holdfast-doctor-end")))
                        .toArray(CompletableFuture[]::new))
                .completeOnTimeout(null, longest.toMillis(), TimeUnit.MILLISECONDS)
                .join();
    }

    /** Sends a request without a body. */
    TimedResponse send(String method, URI at, Map<String, String> headers) {
        return send(method, at, headers, Optional.empty());
    }

    TimedResponse post(URI at, Map<String, String> headers, String message) {
        return send("POST", at, headers, Optional.of(message.getBytes(UTF_8)));
    }

    private TimedResponse send(String method, URI at, Map<String, String> headers, Optional<byte[]> body) {
        HttpRequest request = requests.make(method, at, body, "", begun -> {
                    begun.method(method, body.map(BodyPublishers::ofByteArray).orElseGet(BodyPublishers::noBody));
                    begun.header(
                            "Accept", body.isPresent() ? "application/json, text/event-stream" : "text/event-stream");
                    begun.header("Accept-Encoding", "identity");
                    body.ifPresent(bytes -> begun.header("Content-Type", "application/json"));
                    headers.forEach(begun::setHeader);
                    return begun;
                })
                .toCompletableFuture()
                .join();
        return TimedResponse.to(request, http);
    }
}

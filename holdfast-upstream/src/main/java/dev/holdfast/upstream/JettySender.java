package dev.holdfast.upstream;

import dev.holdfast.client.wire.HttpSender;
import dev.holdfast.client.wire.MarkedBody;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.Request;

/** Sends by Jetty's client: a request goes out in one write, and the thread that reads an answer passes it on. */
record JettySender(HttpClient http) implements HttpSender {
    @Override
    public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
        Request sent = http.newRequest(request.uri())
                .method(request.method())
                // streams that last stay out of the pool in which calls look for a connection
                .tag(request.method())
                .headers(headers -> request.headers().map().forEach((name, values) -> {
                    headers.remove(name);
                    values.forEach(value -> headers.add(name, value));
                }))
                // a stream may be silent for long; the limit of the client is for connections that carry nothing
                .idleTimeout(0, TimeUnit.MILLISECONDS);
        request.bodyPublisher().ifPresent(body -> sent.body(new JettyRequestBody((MarkedBody) body)));
        JettyAnswer taken = new JettyAnswer(sent, answer);
        CompletableFuture<?> end = taken.end();
        end.whenComplete((nothing, failure) -> {
            if (failure instanceof CancellationException) {
                sent.abort(failure);
            }
        });
        sent.onResponseContentSource(taken::begin).send(taken::ended);
        return end;
    }
}

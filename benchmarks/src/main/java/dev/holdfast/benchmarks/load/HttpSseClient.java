package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** A client of HTTP+SSE that does one thing after the other. */
public final class HttpSseClient implements AutoCloseable {
    private static final int ACCEPTED = 202;
    private static final String DATA = "data: ";

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final BufferedReader events;
    private final URI endpoint;
    private int requests;

    public HttpSseClient(Target target) throws IOException, InterruptedException {
        URI base = URI.create("http://127.0.0.1:" + target.port() + "/sse");
        HttpRequest get = HttpRequest.newBuilder(base)
                .header("Accept", "text/event-stream")
                .build();
        events = new BufferedReader(new InputStreamReader(
                http.send(get, BodyHandlers.ofInputStream()).body(), UTF_8));
        endpoint = base.resolve(data());
        ask("initialize", """
                {"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}""");
        post("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    }

    /** Calls the tool {@code echo}; returns how long its POST took, in nanoseconds. The answer has come by then. */
    public long echo() throws IOException, InterruptedException {
        return ask("tools/call", "{\"name\":\"echo\",\"arguments\":{\"text\":\"hello\"}}");
    }

    private long ask(String method, String params) throws IOException, InterruptedException {
        long took = post("{\"jsonrpc\":\"2.0\",\"id\":" + ++requests + ",\"method\":\"" + method + "\",\"params\":"
                + params + "}");
        data();
        return took;
    }

    private long post(String body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(endpoint)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body))
                .build();
        long start = System.nanoTime();
        HttpResponse<Void> response = http.send(request, BodyHandlers.discarding());
        long took = System.nanoTime() - start;
        if (response.statusCode() != ACCEPTED) {
            throw new IOException("a POST was answered " + response.statusCode());
        }
        return took;
    }

    /** The data of the next event. */
    private String data() throws IOException {
        String line = events.readLine();
        while (line != null && !line.startsWith(DATA)) {
            line = events.readLine();
        }
        if (line == null) {
            throw new IOException("the stream has ended");
        }
        return line.substring(DATA.length());
    }

    @Override
    public void close() throws IOException {
        events.close();
    }
}

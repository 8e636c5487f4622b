package dev.holdfast.gateway;

import static java.net.http.HttpResponse.BodyHandlers.ofLines;
import static java.net.http.HttpResponse.BodyHandlers.ofString;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** A client of Streamable HTTP with one session. */
final class HttpPeer {
    /** A call may stay open for as long as a test keeps a store from writing. */
    private static final Duration LONGEST_CALL = Duration.ofMinutes(1);

    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private final HttpClient client;
    private final URI url;
    private final String[] headers;
    private volatile String session = "";

    HttpPeer(URI url) {
        this(CLIENT, url, new String[0]);
    }

    private HttpPeer(HttpClient client, URI url, String[] headers) {
        this.client = client;
        this.url = url;
        this.headers = headers;
    }

    /**
     * A client that has opened its session.
     *
     * @param headers names and values that each of its requests has
     */
    static HttpPeer connected(URI url, String... headers) {
        return introduced(url, TestJson.INITIALIZE, headers);
    }

    /** The same with another {@code initialize}. */
    static HttpPeer introduced(URI url, String initialize, String... headers) {
        HttpPeer peer = new HttpPeer(CLIENT, url, headers);
        peer.begin(peer.post(initialize));
        return peer;
    }

    /** A client that has opened its session with connections of its own. */
    static HttpPeer connected(HttpClient client, URI url) {
        HttpPeer peer = new HttpPeer(client, url, new String[0]);
        peer.begin(peer.post(TestJson.INITIALIZE));
        return peer;
    }

    /** The same client with the same session and other connections. */
    HttpPeer over(HttpClient other) {
        HttpPeer peer = new HttpPeer(other, url, headers);
        peer.session = session;
        return peer;
    }

    /** A client that has opened its session at a server which may have refused that for a moment, as its status 503 says. */
    static HttpPeer connectedAtLast(URI url, String... headers) {
        HttpPeer peer = new HttpPeer(CLIENT, url, headers);
        Wait.until("a session is opened", () -> {
            HttpResponse<String> opened = peer.post(TestJson.INITIALIZE);
            boolean refused = opened.statusCode() == 503;
            if (!refused) {
                peer.begin(opened);
            }
            return !refused;
        });
        return peer;
    }

    private void begin(HttpResponse<String> opened) {
        session = opened.headers().firstValue("Mcp-Session-Id").orElseThrow(() -> new AssertionError(opened.body()));
        post("{'jsonrpc':'2.0','method':'notifications/initialized'}");
    }

    /** The same client with the same session, at another server. */
    HttpPeer at(URI other) {
        HttpPeer peer = new HttpPeer(client, other, headers);
        peer.session = session;
        return peer;
    }

    /** The same client with the same session and other headers. */
    HttpPeer with(String... others) {
        HttpPeer peer = new HttpPeer(client, url, others);
        peer.session = session;
        return peer;
    }

    URI url() {
        return url;
    }

    String session() {
        return session;
    }

    private HttpRequest.Builder request() {
        HttpRequest.Builder request = HttpRequest.newBuilder(url).timeout(LONGEST_CALL);
        for (int i = 0; i < headers.length; i += 2) {
            request.header(headers[i], headers[i + 1]);
        }
        return session.isEmpty() ? request : request.header("Mcp-Session-Id", session);
    }

    private HttpRequest posting(String message) {
        return posting(message, "application/json, text/event-stream");
    }

    private HttpRequest posting(String message, String accept) {
        return request()
                .header("Content-Type", "application/json")
                .header("Accept", accept)
                .POST(BodyPublishers.ofString(TestJson.of(message)))
                .build();
    }

    HttpResponse<String> post(String message) {
        return send(posting(message));
    }

    /** The same from a client that takes other answers. */
    HttpResponse<String> post(String message, String accept) {
        return send(posting(message, accept));
    }

    /** The answer to a request, as the one event with data in its stream. */
    String call(int id, String method) {
        HttpResponse<String> response = post("{'jsonrpc':'2.0','id':" + id + ",'method':'" + method + "'}");
        List<String> data = response.body()
                .lines()
                .filter(line -> line.startsWith("data: {"))
                .map(line -> line.substring("data: ".length()))
                .toList();
        if (data.size() != 1) {
            throw new AssertionError("not one message: " + response + " " + response.body());
        }
        return data.get(0);
    }

    /** Posts a request; completes with its stream as soon as the response has begun. */
    CompletableFuture<HttpResponse<Stream<String>>> posted(int id, String method) {
        return posted("{'jsonrpc':'2.0','id':" + id + ",'method':'" + method + "'}");
    }

    CompletableFuture<HttpResponse<Stream<String>>> posted(String message) {
        return client.sendAsync(posting(message), ofLines());
    }

    /** Asks for what came after an event; completes as soon as the response has begun. */
    CompletableFuture<HttpResponse<Stream<String>>> resumed(String lastEventId) {
        HttpRequest get = request()
                .header("Accept", "text/event-stream")
                .header("Last-Event-ID", lastEventId)
                .build();
        return client.sendAsync(get, ofLines());
    }

    /** Listens; completes as soon as the response has begun. */
    CompletableFuture<HttpResponse<Stream<String>>> listened() {
        return client.sendAsync(request().header("Accept", "text/event-stream").build(), ofLines());
    }

    HttpResponse<String> delete() {
        return send(request().DELETE().build());
    }

    /** Gets some page of the same server. */
    HttpResponse<String> get(String path, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(url.resolve(path)).timeout(Wait.PATIENCE);
        return send((headers.length == 0 ? request : request.headers(headers)).build());
    }

    private HttpResponse<String> send(HttpRequest request) {
        try {
            return client.send(request, ofString());
        } catch (IOException e) {
            throw new AssertionError("no response", e);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }
}

package dev.holdfast.spring;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** A client that shows what is on the wire. */
final class Wire {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private final URI endpoint;
    private final String session;
    private final String[] headers;

    private Wire(URI endpoint, String session, String... headers) {
        this.endpoint = endpoint;
        this.session = session;
        this.headers = headers;
    }

    /** Opens a session; headers are pairs of a name and a value. */
    static Wire open(int port, String path, String... headers) throws Exception {
        URI endpoint = URI.create("http://localhost:" + port + path);
        HttpResponse<String> response = new Wire(endpoint, "", headers)
                .post(
                        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
                                + "\"capabilities\":{},\"clientInfo\":{\"name\":\"wire\",\"version\":\"1\"}}}");
        if (response.statusCode() != 200) {
            throw new IOException("initialize: " + response.statusCode() + " " + response.body());
        }
        Wire wire = new Wire(
                endpoint, response.headers().firstValue("Mcp-Session-Id").orElseThrow(), headers);
        wire.post("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        return wire;
    }

    String session() {
        return session;
    }

    /** The same session, asked for by somebody else. */
    Wire as(String... others) {
        return new Wire(endpoint, session, others);
    }

    /** The same session and caller, at another node. */
    Wire at(int port) {
        return new Wire(URI.create("http://localhost:" + port + endpoint.getPath()), session, headers);
    }

    HttpResponse<String> post(String body) throws Exception {
        return CLIENT.send(
                request().POST(HttpRequest.BodyPublishers.ofString(body)).build(),
                HttpResponse.BodyHandlers.ofString());
    }

    /** The whole stream that answers a call. */
    String call(String tool, String arguments) throws Exception {
        HttpResponse<String> response =
                post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" + tool
                        + "\",\"arguments\":" + arguments + "}}");
        if (response.statusCode() != 200) {
            throw new IOException(tool + ": " + response.statusCode() + " " + response.body());
        }
        return response.body();
    }

    /** Listens; the head is there when this returns. */
    HttpResponse<Stream<String>> listen(String... more) throws Exception {
        HttpRequest.Builder get = request().GET();
        return CLIENT.send((more.length == 0 ? get : get.headers(more)).build(), HttpResponse.BodyHandlers.ofLines());
    }

    int delete() throws Exception {
        return CLIENT.send(request().DELETE().build(), HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }

    private HttpRequest.Builder request() {
        HttpRequest.Builder request = HttpRequest.newBuilder(endpoint)
                // under the JDK's own name it would get streams without a retry line
                .header("User-Agent", "test")
                .timeout(Duration.ofSeconds(30))
                .header("Content-Type", "application/json");
        if (!List.of(headers).contains("Accept")) {
            request.header("Accept", "application/json, text/event-stream");
        }
        if (!session.isEmpty()) {
            request.header("Mcp-Session-Id", session);
        }
        return headers.length == 0 ? request : request.headers(headers);
    }

    /** What another page of the same server says. */
    static HttpResponse<String> page(int port, String method, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build();
        return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
    }
}

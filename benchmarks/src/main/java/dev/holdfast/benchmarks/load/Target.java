package dev.holdfast.benchmarks.load;

import dev.holdfast.benchmarks.server.Stats;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.UUID;

/**
 * A server under measurement, and what is asked of it outside of the measured load.
 *
 * @param name its kind
 * @param port where it listens on the loopback address
 */
public record Target(String name, int port) {
    public static final String REVISION = "2025-11-25";

    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final int MOST_COLLECTIONS = 10;
    private static final int REST_BYTES = 64 << 10;
    private static final long REST_MILLIS = 1000;
    private static final int FILLED_CALLS = 3;
    private static final int FILLED_AT_ONCE = 10_000;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    public InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    /** Whether there is MCP behind it. */
    boolean speaksMcp() {
        return !name.startsWith("floor") && !name.startsWith("sdk");
    }

    /** Opens a session and returns its id; a server without MCP gets one that nobody knows. */
    public String open() throws IOException, InterruptedException {
        if (!speaksMcp()) {
            return UUID.randomUUID().toString();
        }
        HttpResponse<String> opened = post("", """
                {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",\
                "capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}}""");
        String session = opened.headers().firstValue("Mcp-Session-Id").orElseThrow();
        post(session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        return session;
    }

    /** Calls a tool and waits for the whole answer. */
    public String call(String session, String tool, String arguments) throws IOException, InterruptedException {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" + tool
                + "\",\"arguments\":" + arguments + "}}";
        return post(session, body).body();
    }

    /** Has a server that fills a folder write sessions with a short history: some answers and notifications. */
    public void fill(int sessions) throws IOException, InterruptedException {
        String history = "history ".repeat(20);
        String session = open();
        for (int i = 0; i < FILLED_CALLS; i++) {
            call(session, "echo", "{\"text\":\"" + history + "\"}");
        }
        call(session, "notify", "{\"count\":5,\"tag\":\"" + history + "\"}");
        for (int from = 0; from < sessions; from += FILLED_AT_ONCE) {
            control("fill?from=" + from + "&count=" + Math.min(FILLED_AT_ONCE, sessions - from));
        }
    }

    public void delete(String session) throws IOException, InterruptedException {
        send(request("/mcp").header("Mcp-Session-Id", session).DELETE().build());
    }

    private HttpResponse<String> post(String session, String body) throws IOException, InterruptedException {
        HttpRequest.Builder request = request("/mcp")
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream")
                .POST(BodyPublishers.ofString(body));
        if (!session.isEmpty()) {
            request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", REVISION);
        }
        return send(request.build());
    }

    /** The server's figures now. */
    public Stats stats() throws IOException, InterruptedException {
        return control("stats");
    }

    /** What it has used, by what it says itself. */
    public Usage usage() throws IOException, InterruptedException {
        Stats now = stats();
        return new Usage(now.cpu(), now.allocated(), now.rss());
    }

    /** The server's figures after its garbage is gone and its heap has come to rest. */
    public Stats collected() throws IOException, InterruptedException {
        Stats last = control("collect");
        for (int i = 0; i < MOST_COLLECTIONS; i++) {
            Thread.sleep(REST_MILLIS);
            Stats next = control("collect");
            if (Math.abs(next.heap() - last.heap()) < REST_BYTES) {
                return next;
            }
            last = next;
        }
        System.out.println(name + ": the heap did not come to rest");
        return last;
    }

    /** Asks for something of the server's control path; returns its figures. */
    public Stats control(String what) throws IOException, InterruptedException {
        return Stats.parse(
                send(request("/control/" + what).POST(BodyPublishers.noBody()).build())
                        .body());
    }

    /** Has the server send one message to all clients; returns when it has sent it. */
    void tell() throws IOException, InterruptedException {
        control("tell?bytes=100");
    }

    /** Has the server call its own sessions for a while; returns how many calls were answered. */
    long calls(int sessions, long millis) throws IOException, InterruptedException {
        String what = "/control/calls?sessions=" + sessions + "&millis=" + millis;
        return Long.parseLong(
                send(request(what).POST(BodyPublishers.noBody()).build()).body());
    }

    /** What the server's engine has counted. */
    public String engine() throws IOException, InterruptedException {
        return send(request("/control/engine").POST(BodyPublishers.noBody()).build())
                .body();
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(PATIENCE);
    }

    private static HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
        HttpResponse<String> response = HTTP.send(request, BodyHandlers.ofString());
        if (response.statusCode() >= 300) {
            throw new IOException(request.method() + " " + request.uri() + " was answered " + response.statusCode()
                    + ": " + response.body());
        }
        return response;
    }
}

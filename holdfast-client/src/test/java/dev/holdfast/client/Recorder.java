package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Messages and events of one session, and what the tests say to it. */
final class Recorder implements MessageSink, SessionWatch {
    static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static final ScheduledExecutorService CLOCK = Executors.newScheduledThreadPool(1, task -> {
        Thread thread = new Thread(task, "test-clock");
        thread.setDaemon(true);
        return thread;
    });
    static final Duration SOON = Duration.ofSeconds(20);

    final BlockingQueue<Envelope> messages = new LinkedBlockingQueue<>();
    final List<String> heard = new CopyOnWriteArrayList<>();

    static RemoteServer remote(URI uri) {
        return RemoteServer.at(uri, HTTP, CLOCK, Runnable::run);
    }

    static Envelope envelope(String json) {
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json.getBytes(UTF_8))).message();
    }

    static Envelope initialize() {
        return envelope("""
                {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
                "clientInfo":{"name":"test","version":"1"}}}""");
    }

    static Envelope initialized() {
        return envelope("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    }

    static String initializeResult() {
        return """
                {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},\
                "serverInfo":{"name":"scripted","version":"1"}}}""";
    }

    static Envelope call(int id) {
        return envelope("{\"jsonrpc\":\"2.0\",\"id\":" + id
                + ",\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}");
    }

    /** A call that asks for progress. */
    static Envelope call(int id, String token) {
        return envelope("{\"jsonrpc\":\"2.0\",\"id\":" + id
                + ",\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_meta\":{\"progressToken\":\"" + token
                + "\"}}}");
    }

    static String progress(String token, int step) {
        return "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"" + token
                + "\",\"progress\":" + step + "}}";
    }

    static String answer(int id) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{\"content\":[]}}";
    }

    /** Answers a ping, under its own id. */
    static void pong(ScriptedServer.Request request, ScriptedServer.Reply reply) throws IOException {
        assertThat(request.body()).contains("\"ping\"");
        reply.json(answer(0)
                .replace(
                        ":0,", ":" + envelope(request.body()).id().orElseThrow().token() + ","));
    }

    static String log(String text) {
        return "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\""
                + text + "\"}}";
    }

    /** Opens a session at a server that answers {@code initialize}. */
    ServerSession open(RemoteServer server) {
        SessionOpener opening = new SessionOpener(server, this, this);
        SessionOpener.Result result = Eventually.now(opening.open(
                SessionOpener.Protocol.AUTOMATIC,
                initialize(),
                ServerSession.NO_CONTEXT,
                message -> CompletableFuture.completedFuture(null)));
        return ((SessionOpener.Opened) result).session();
    }

    /** The next message, as text. */
    String next() throws InterruptedException {
        Envelope message = messages.poll(SOON.toSeconds(), TimeUnit.SECONDS);
        return message == null ? "nothing" : new String(message.bytes(), UTF_8);
    }

    @Override
    public CompletionStage<Void> message(Envelope message) {
        messages.add(message);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void reconnecting(Throwable cause) {
        heard.add("reconnecting");
    }

    @Override
    public void resumed(Duration away) {
        heard.add("resumed");
    }

    @Override
    public void gap() {
        heard.add("gap");
    }

    @Override
    public void gone(Object session) {
        heard.add("gone");
    }

    @Override
    public void failed(Throwable failure) {
        heard.add("failed: " + failure.getMessage());
    }
}

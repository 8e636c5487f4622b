package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/** An MCP server over Streamable HTTP that does what a test says; unless told otherwise, it answers everything at once, and has no GET. */
final class ScriptedUpstream implements AutoCloseable {
    private static final Pattern METHOD = Pattern.compile("\"method\":\"([^\"]+)\"");
    private static final Pattern ID = Pattern.compile("\"id\":(\"[^\"]*\"|\\d+)");

    private static final int BACKLOG = 50;

    private final String scheme;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Map<String, Act> acts = new ConcurrentHashMap<>();
    private final AtomicInteger sessions = new AtomicInteger();
    /** Every request that came, in order. */
    final List<Asked> asked = new CopyOnWriteArrayList<>();

    /** What is done with one request. */
    interface Act {
        void on(Asked asked) throws IOException;
    }

    /**
     * A request, and the way back.
     *
     * @param what the method of the message; that of HTTP where there is no message
     */
    record Asked(HttpExchange exchange, String what, String body) {
        String header(String name) {
            List<String> values = exchange.getRequestHeaders().get(name);
            return values == null ? "" : String.join("|", values);
        }

        String id() {
            Matcher id = ID.matcher(body);
            return id.find() ? id.group(1) : "null";
        }

        void status(int status) throws IOException {
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        }

        void json(String text) throws IOException {
            byte[] bytes = TestJson.of(text).getBytes(UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        }

        /** A result with this text in it. */
        void result(String text) throws IOException {
            json("{'jsonrpc':'2.0','id':" + id() + ",'result':{'protocolVersion':'2025-11-25','text':'" + text + "'}}");
        }

        /** Begins a stream. */
        OutputStream stream() throws IOException {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            return exchange.getResponseBody();
        }
    }

    ScriptedUpstream() {
        this(0);
    }

    /** One at a port that was free a moment ago. */
    ScriptedUpstream(int port) {
        this("http", () -> HttpServer.create(loopback(port), BACKLOG));
    }

    /** One over TLS. */
    ScriptedUpstream(SSLContext tls) {
        this("https", () -> {
            HttpsServer server = HttpsServer.create(loopback(0), BACKLOG);
            server.setHttpsConfigurator(new HttpsConfigurator(tls));
            return server;
        });
    }

    /** Makes a server. */
    private interface Maker {
        HttpServer make() throws IOException;
    }

    private ScriptedUpstream(String scheme, Maker maker) {
        this.scheme = scheme;
        try {
            server = maker.make();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        acts.put("initialize", this::welcome);
        acts.put("GET", asked -> asked.status(405));
        acts.put("DELETE", asked -> asked.status(200));
        server.createContext("/", this::serve);
        server.setExecutor(threads);
        server.start();
    }

    private static InetSocketAddress loopback(int port) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    /** Opens a session. */
    void welcome(Asked asked) throws IOException {
        asked.exchange().getResponseHeaders().set("Mcp-Session-Id", "session-" + sessions.incrementAndGet());
        asked.result("hello");
    }

    /** What is done with the requests of a method from now on. */
    ScriptedUpstream on(String what, Act act) {
        acts.put(what, act);
        return this;
    }

    /** The requests of a method that have come. */
    List<Asked> asked(String what) {
        return asked.stream().filter(each -> each.what().equals(what)).toList();
    }

    URI url() {
        return URI.create(scheme + "://127.0.0.1:" + server.getAddress().getPort() + "/mcp");
    }

    private void serve(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
        Matcher method = METHOD.matcher(body);
        Asked request = new Asked(exchange, method.find() ? method.group(1) : exchange.getRequestMethod(), body);
        asked.add(request);
        Act act = acts.get(request.what());
        if (act != null) {
            act.on(request);
        } else if (request.id().equals("null")) {
            request.status(202);
        } else {
            request.result("done");
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}

package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.holdfast.NoStore;
import dev.holdfast.gateway.Main;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.micrometer.HoldfastMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The process of {@link CallPathTest}: makes the calls, and prints the figures of each path. */
final class CallPaths {
    private static final Duration NEVER = Duration.ofHours(1);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final AtomicInteger IDS = new AtomicInteger();

    /** Answers each request with the text "hello", whatever it is. */
    private static final String SHELL_SERVER = """
            while read -r line; do
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method"'*)
                  id=${line#*'"id":'}
                  id=${id%%[,\\}]*}
                  printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","text":"hello"}}\\n' "$id" ;;
              esac
            done
            """;

    private CallPaths() {}

    /** The folder of a store. */
    public static void main(String[] arguments) throws Exception {
        onMemory();
        throughTheGateway(Path.of(arguments[0]));
        byTheClient();
        System.exit(0);
    }

    private static void print(String path, CallRecorder.Action prepare, CallRecorder.Action call) throws Exception {
        CallRecorder.Measured measured = CallRecorder.measure(prepare, call);
        System.out.printf(
                "%s %s %d %d %d%n", CallPathTest.MARK, path, measured.types(), measured.entries(), measured.depth());
        if (Boolean.getBoolean(CallPathTest.LIST)) {
            list(path, measured.call());
        }
    }

    /** Prints the types of a path, each with how often its methods are entered. */
    private static void list(String path, List<CallRecorder.Entry> call) {
        Map<String, Map<String, Long>> types = call.stream()
                .collect(groupingBy(
                        CallRecorder.Entry::file,
                        TreeMap::new,
                        groupingBy(CallRecorder.Entry::method, TreeMap::new, counting())));
        types.forEach((type, methods) -> System.out.printf(
                "  %s %4d %s %s%n",
                path, methods.values().stream().mapToLong(times -> times).sum(), type, methods));
    }

    private static void onMemory() throws Exception {
        HoldfastMetrics metrics = new HoldfastMetrics(new SimpleMeterRegistry());
        try (TestServer server = TestServer.in(ContainerKind.JETTY)
                .options(options -> options.heartbeatInterval(NEVER)
                        .keepAliveInterval(null)
                        .callListener(metrics.calls())
                        .sessionLifecycleListener(metrics.sessions())
                        .store(metrics.timed(new NoStore())))
                .start()) {
            Caller caller = new Caller(server.port());
            print("MEMORY", caller::prepare, caller::call);
            print("RESUME", caller::prepareResume, caller::resume);
        }
        metrics.close();
    }

    private static void throughTheGateway(Path store) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        List<String> words = List.of(
                "serve",
                "--port",
                Integer.toString(port),
                "--store",
                "rocksdb:" + store,
                "--heartbeat",
                "1h",
                "--",
                "/bin/sh",
                "-c",
                SHELL_SERVER);
        new Thread(() -> Main.main(words.toArray(String[]::new)), "gateway").start();
        await().atMost(PATIENCE).ignoreExceptions().until(() -> {
            new Socket(InetAddress.getLoopbackAddress(), port).close();
            return true;
        });
        Caller caller = new Caller(port);
        print("STDIO", caller::prepare, caller::call);
        caller.leave();
    }

    private static void byTheClient() throws Exception {
        try (ScriptedServer server = new ScriptedServer()) {
            McpAsyncClient client = McpClient.async(HoldfastClientTransport.builder("http://127.0.0.1:" + server.port())
                            .build())
                    .requestTimeout(PATIENCE)
                    .build();
            client.initialize().block(PATIENCE);
            CallRecorder.Action call = () -> client.callTool(new CallToolRequest("echo", Map.of("text", "hello"), null))
                    .block(PATIENCE);
            print("CLIENT", () -> {}, call);
            server.cutCalls = true;
            print("RESUMED", () -> {}, call);
        }
    }

    /** A client that is no code of Holdfast's, with a young session for each call. */
    private static final class Caller {
        private final int port;
        private @Nullable RawSession session;
        private String lastEvent = "";

        Caller(int port) {
            this.port = port;
        }

        private RawSession session() {
            return Optional.ofNullable(session).orElseThrow();
        }

        void leave() {
            if (session != null) {
                session.status(session.delete());
            }
        }

        void prepare() {
            leave();
            session = RawSession.open(port);
            call();
        }

        void call() {
            RawRequest call = session().post(Json.echo(Integer.toString(IDS.incrementAndGet()), "hello"));
            try (RawConnection connection = session().stream(call)) {
                lastEvent = connection.frame().flatMap(Frame::id).orElseThrow();
                expectHello(connection);
            }
        }

        void prepareResume() {
            prepare();
            call();
        }

        void resume() {
            try (RawConnection connection = session().stream(session().get(lastEvent))) {
                expectHello(connection);
            }
        }

        private static void expectHello(RawConnection connection) {
            List<Frame> messages = connection.messages();
            if (messages.size() != 1 || !messages.get(0).json().toString().contains("hello")) {
                throw new IllegalStateException("unexpected: " + messages);
            }
        }
    }

    /** A server that is no code of Holdfast's; on demand it ends the connection of each call before the answer. */
    private static final class ScriptedServer implements AutoCloseable {
        private final HttpServer http;
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final Map<String, String> answers = new ConcurrentHashMap<>();
        volatile boolean cutCalls;

        ScriptedServer() throws IOException {
            http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            http.setExecutor(threads);
            http.createContext("/mcp", this::serve);
            http.start();
        }

        int port() {
            return http.getAddress().getPort();
        }

        private void serve(HttpExchange exchange) throws IOException {
            try (exchange) {
                String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
                String lastEvent = exchange.getRequestHeaders().getFirst("Last-Event-ID");
                exchange.getResponseHeaders().set("Mcp-Session-Id", "session");
                if (lastEvent != null) {
                    stream(
                            exchange,
                            Optional.ofNullable(answers.remove(lastEvent)).orElseThrow());
                } else if (!exchange.getRequestMethod().equals("POST")) {
                    exchange.sendResponseHeaders(405, -1);
                } else if (body.contains("\"notifications/")) {
                    exchange.sendResponseHeaders(202, -1);
                } else {
                    String first = UUID.randomUUID().toString();
                    String beginning = "retry: 10\nid: " + first + "\ndata: \n\n";
                    boolean cut = cutCalls && body.contains("\"tools/call\"");
                    if (cut) {
                        answers.put(first, answer(body));
                    }
                    stream(exchange, cut ? beginning : beginning + answer(body));
                }
            }
        }

        private static String answer(String body) {
            String result = body.contains("\"initialize\"")
                    ? "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                            + "\"serverInfo\":{\"name\":\"scripted\",\"version\":\"1\"}}"
                    : "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}";
            return "id: " + UUID.randomUUID() + "\ndata: "
                    + Json.answer(Json.parse(body).get("id").toString(), result) + "\n\n";
        }

        private static void stream(HttpExchange exchange, String events) throws IOException {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(events.getBytes(UTF_8));
            }
        }

        @Override
        public void close() {
            http.stop(0);
            threads.shutdownNow();
        }
    }
}

package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.EngineStats;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import io.modelcontextprotocol.json.McpJsonDefaults;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** The pages about the state of a gateway. */
public final class StatusPages {
    /** Its health, for everybody. */
    static final String HEALTH = "/healthz";
    /** What its engine holds and has counted, for those whom the gateway serves. */
    static final String STATS = "/stats";
    /** Its meters in the format of Prometheus, for those whom the gateway serves. */
    static final String METRICS = "/metrics";

    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;
    private static final String JSON = "application/json;charset=utf-8";
    private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

    private static final String RETRY_SECONDS = "10";

    private final Supplier<List<Server>> servers;
    private final Supplier<Map<String, String>> failed;
    private final Guard guard;
    private final Supplier<String> metrics;

    /**
     * Pages of servers.
     *
     * @param servers those that are served now
     * @param failed why others are not, or are as they were, by their names
     * @param guard decides who sees the pages that are not for everybody
     * @param metrics the meters in the text format of Prometheus
     */
    public StatusPages(
            Supplier<List<Server>> servers,
            Supplier<Map<String, String>> failed,
            Guard guard,
            Supplier<String> metrics) {
        this.servers = servers;
        this.failed = failed;
        this.guard = guard;
        this.metrics = metrics;
    }

    /**
     * A server that is served.
     *
     * @param name its name among others; empty for the only one
     * @param health that of its store
     */
    public record Server(String name, SessionEngine engine, Supplier<StoreHealth> health) {
        /** How its store is, as this node may use it. */
        public StoreHealth store() {
            StoreHealth now = health.get();
            return engine.mayWrite() ? now : now.withoutLease();
        }
    }

    /** Decides who may see a page. */
    @FunctionalInterface
    public interface Guard {
        /** Lets everybody see it. */
        Guard NONE = (request, response) -> Optional.of("");

        /** Who asks, if the request may go on: empty text for nobody in particular. If not, it is answered. */
        Optional<String> visitor(HttpServletRequest request, HttpServletResponse response) throws IOException;
    }

    /**
     * What a page tells now.
     *
     * @param code the HTTP status
     * @param type the media type
     */
    record Page(int code, String type, String text) {}

    /** A servlet for each path. */
    Map<String, HttpServlet> servlets() {
        return Map.of(
                HEALTH, new PageServlet(Guard.NONE, this::health, () -> health().code()),
                STATS, new PageServlet(guard, this::stats, () -> OK),
                METRICS, new PageServlet(guard, () -> new Page(OK, PROMETHEUS, metrics.get()), () -> OK));
    }

    /**
     * Whether clients should come: 200, or 503 once the gateway drains and wants no new ones, or where no server could be started. A
     * store that cannot write is no reason for 503: what runs goes on, and a restart gives the disk no room.
     */
    Page health() {
        List<Server> all = servers.get();
        int without = failed.get().size();
        boolean draining = !all.isEmpty() && all.stream().allMatch(server -> server.engine.draining());
        Optional<StoreHealth> store = all.stream().map(Server::store).reduce(StoreHealth::with);
        boolean well =
                without == 0 && store.map(StoreHealth::state).orElse(StoreHealth.State.WELL) == StoreHealth.State.WELL;
        int sessions = all.stream().mapToInt(server -> server.engine.size()).sum();
        boolean one = all.size() == 1 && all.get(0).name.isEmpty();
        return new Page(
                draining || (all.isEmpty() && without > 0) ? UNAVAILABLE : OK,
                JSON,
                "{\"status\":\"" + (draining ? "draining" : well ? "ok" : "degraded") + "\",\"sessions\":" + sessions
                        + (one ? "" : ",\"servers\":" + all.size() + ",\"failed\":" + without)
                        + store.map(health -> ",\"store\":" + health.json()).orElse("") + "}\n");
    }

    /** What each engine holds and has counted, by the names of {@link EngineStats}; where there are many, by the names of the servers. */
    private Page stats() {
        Map<String, Map<String, Object>> all = new TreeMap<>();
        servers.get().forEach(server -> all.put(server.name, members(server.engine.stats())));
        failed.get()
                .forEach((name, why) ->
                        all.computeIfAbsent(name, none -> new TreeMap<>()).put("failed", why));
        try {
            Object shown = Optional.<Object>ofNullable(all.get("")).orElse(all);
            return new Page(OK, JSON, McpJsonDefaults.getMapper().writeValueAsString(shown) + "\n");
        } catch (IOException e) {
            throw new IllegalStateException("the stats could not be written", e);
        }
    }

    private static Map<String, Object> members(EngineStats stats) {
        try {
            Map<String, Object> members = new LinkedHashMap<>();
            for (RecordComponent member : EngineStats.class.getRecordComponents()) {
                Object value = member.getAccessor().invoke(stats);
                members.put(member.getName(), value instanceof Map<?, ?> counts ? new TreeMap<>(counts) : value);
            }
            return members;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the stats could not be read", e);
        }
    }

    /** Answers 503 at the paths of a server that could not be started, with the reason for those whom the gateway serves. */
    public static final class Unserved extends HttpServlet {
        private final transient Guard guard;
        private final String reason;

        /** An answer that says why. */
        public Unserved(Guard guard, String reason) {
            this.guard = guard;
            this.reason = reason;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            if (guard.visitor(request, response).isPresent()) {
                byte[] body = JsonRpc.errorBody(Optional.empty(), JsonRpc.SERVER_ERROR, reason);
                response.setHeader("Retry-After", RETRY_SECONDS);
                response.setContentType(JSON);
                PageServlet.begin(response, UNAVAILABLE, body.length);
                response.getOutputStream().write(body);
            }
        }
    }

    /**
     * OPTIONS is answered with the status that a GET would have, without a body: HAProxy's {@code httpchk} asks by it unless it is told
     * otherwise. A guard lets it pass without a token, so that it must cost little.
     */
    private static final class PageServlet extends HttpServlet {
        private static final String METHODS = "GET, HEAD, OPTIONS";

        private final transient Guard guard;
        private final transient Supplier<Page> page;
        private final transient IntSupplier code;

        /** A page, and the code alone where that is asked for. */
        private PageServlet(Guard guard, Supplier<Page> page, IntSupplier code) {
            this.guard = guard;
            this.page = page;
            this.code = code;
        }

        /** Only what is below: the methods of a servlet by default tell of it, and of the request. */
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            if (guard.visitor(request, response).isEmpty()) {
                return;
            }
            switch (request.getMethod()) {
                case "GET", "HEAD" -> {
                    Page now = page.get();
                    byte[] body = now.text.getBytes(UTF_8);
                    begin(response, now.code, body.length);
                    response.setContentType(now.type);
                    response.getOutputStream().write(body);
                }
                case "OPTIONS" -> {
                    begin(response, code.getAsInt(), 0);
                    response.setHeader("Allow", METHODS);
                }
                default -> {
                    response.setHeader("Allow", METHODS);
                    response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
                }
            }
        }

        private static void begin(HttpServletResponse response, int status, int length) {
            response.setStatus(status);
            response.setHeader("Cache-Control", "no-store");
            response.setContentLength(length);
        }
    }
}

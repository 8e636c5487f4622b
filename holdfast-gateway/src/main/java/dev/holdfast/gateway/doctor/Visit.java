package dev.holdfast.gateway.doctor;

import static dev.holdfast.gateway.doctor.Verdict.problem;
import static dev.holdfast.gateway.doctor.Verdict.text;
import static dev.holdfast.gateway.doctor.Verdict.unknown;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.Origin;
import dev.holdfast.gateway.doctor.TimedResponse.Arrival;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonParts;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** One session at a server, as an ordinary client has it: over Streamable HTTP, or over HTTP+SSE. For one thread. */
final class Visit {
    /** What has become of a session. */
    enum Fate {
        KEPT,
        LOST,
        /** It was neither confirmed nor denied. */
        UNKNOWN
    }

    /** What became of the attempt to open a session. */
    sealed interface Opening {}

    /** There is one. */
    record Opened(Visit visit) implements Opening {}

    /** There is none, and the verdict says why. */
    record NotOpened(Verdict verdict) implements Opening {}

    /** A tool that may be called, and its arguments as JSON. */
    record Tool(String name, String arguments) {}

    /**
     * What became of a request that asks for nothing.
     *
     * @param answered whether its response came
     */
    record Echo(TimedResponse response, boolean answered) {
        int status() {
            return response.status();
        }

        boolean isTaken() {
            return response.isGood();
        }

        /** Whether it says that there is no such session. */
        boolean isLost() {
            return status() == 404 || status() == 400;
        }

        /** Whether nothing was said in time, here or at a hop behind. */
        boolean isLate() {
            return (status() == 0 && !response.isOver()) || status() == 408 || status() == 504;
        }
    }

    /** How long a server may take to open a session, which may have to start a process for that. */
    private static final Duration OPENING = Duration.ofSeconds(40);
    /** How long anything else may take. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    /** The same for a large request. */
    private static final Duration UPLOAD = Duration.ofSeconds(30);

    private static final Duration PAUSE = Duration.ofMillis(400);

    /** What clients send that take compressed answers, as browsers do, and Node; they take others too. */
    static final Map<String, String> COMPRESSED = Map.of("Accept-Encoding", "gzip");

    private static final String SESSION = "Mcp-Session-Id";
    private static final String REVISION = "2025-11-25";
    private static final String SSE_REVISION = "2024-11-05";

    private final Way way;
    private final URI posts;
    private final Map<String, String> marks;
    private final byte[] welcome;
    /** Over HTTP+SSE, where all answers come. */
    private Optional<TimedResponse> answers;

    private final AtomicInteger ids = new AtomicInteger();

    private Visit(Way way, URI posts, Map<String, String> marks, byte[] welcome, Optional<TimedResponse> answers) {
        this.way = way;
        this.posts = posts;
        this.marks = marks;
        this.welcome = welcome;
        this.answers = answers;
    }

    /** Opens a session, over Streamable HTTP if the server speaks it. */
    static Opening open(Way way) {
        TimedResponse answer = way.post(way.uri(), Map.of(), initialize(REVISION));
        if (!answer.within(OPENING, each -> each.answer(0).isPresent() || each.isOver()) && !answer.hasHead()) {
            answer.cut();
            return none("initialize was not answered within " + text(OPENING), "is that the URL of an MCP server?");
        }
        if (answer.status() == 400 || answer.status() == 404 || answer.status() == 405) {
            return openSse(way, answer);
        }
        Optional<byte[]> welcome = welcome(answer);
        if (welcome.isEmpty()) {
            return refused(answer);
        }
        Map<String, String> marks = new HashMap<>();
        answer.header(SESSION).ifPresent(id -> marks.put(SESSION, id));
        JsonParts.string(welcome.get(), "result", "protocolVersion")
                .ifPresent(revision -> marks.put("MCP-Protocol-Version", revision));
        return new Visit(way, way.uri(), marks, welcome.get(), Optional.empty()).begun();
    }

    private static Opening openSse(Way way, TimedResponse refusal) {
        TimedResponse stream = way.send("GET", way.uri(), Map.of());
        stream.within(PATIENCE, each -> endpoint(each).isPresent() || each.isOver());
        Optional<URI> posts = endpoint(stream).flatMap(named -> at(way.uri(), named));
        if (posts.isEmpty()) {
            stream.cut();
            if (!stream.isGood() || !stream.isStream()) {
                return refused(stream.isGood() ? stream : refusal);
            }
            return stream.firstByte().isPresent()
                    ? none(
                            "the first event over HTTP+SSE does not say where to post: its data are no URL of this server",
                            "the server has to name a path there (Holdfast: --base-url, --message-path)")
                    : new NotOpened(problem(
                            "buffering",
                            "the first event of a stream over HTTP+SSE has not come within " + text(PATIENCE),
                            "something on the way holds streams back: " + Verdict.UNBUFFER));
        }
        TimedResponse unused = way.post(posts.get(), Map.of(), initialize(SSE_REVISION));
        stream.within(OPENING, each -> each.answer(0).isPresent() || each.isOver());
        return welcome(stream)
                .map(welcome -> new Visit(way, posts.get(), Map.of(), welcome, Optional.of(stream)).begun())
                .orElseGet(() -> refused(stream));
    }

    private static Optional<String> endpoint(TimedResponse stream) {
        return stream.arrivals().stream()
                .map(Arrival::event)
                .filter(event -> event.name().equals("endpoint"))
                .findFirst()
                .map(event -> new String(event.data(), UTF_8).strip());
    }

    /** Where a reference leads, if that is the same server: credentials go nowhere else. */
    private static Optional<URI> at(URI base, String reference) {
        try {
            URI place = Origin.resolve(base, reference);
            return Optional.of(place)
                    .filter(it -> !reference.isEmpty() && Origin.of(it).equals(Origin.of(base)));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static Optional<byte[]> welcome(TimedResponse answer) {
        return answer.answer(0)
                .flatMap(Arrival::message)
                .filter(message -> message.kind() == Envelope.Kind.RESPONSE)
                .map(Envelope::bytes);
    }

    private static Opening refused(TimedResponse answer) {
        String outcome = answer.header("Location")
                .map(place -> answer.outcome() + " and sends elsewhere")
                .orElseGet(answer::outcome);
        String advice = switch (answer.status()) {
            case 0 -> "is the server there, and its name and port right?";
            case 401 -> "give a token by --header 'Authorization: Bearer TOKEN' or --header-file";
            case 403 -> "give a token by --header; or the name in the URL is not listed: --allowed-host";
            case 301, 302, 303, 307, 308 -> "give the URL that it leads to";
            case 429, 502, 503, 504 -> "try again when the server answers";
            default -> "is that the URL of an MCP server with sessions, such as https://mcp.example/mcp?";
        };
        return none("no session was opened: " + outcome, advice);
    }

    private static Opening none(String why, String advice) {
        return new NotOpened(unknown("session", why, advice));
    }

    private Opening begun() {
        TimedResponse taken = way.post(posts, marks, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        taken.within(PATIENCE, TimedResponse::isOver);
        way.open().add(this);
        return new Opened(this);
    }

    private static String initialize(String revision) {
        return request(
                0,
                "initialize",
                "{\"protocolVersion\":\"" + revision
                        + "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"holdfast-doctor\",\"version\":\"1\"}}");
    }

    private static String request(int id, String method, String params) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"" + method + "\",\"params\":" + params + "}";
    }

    boolean isSse() {
        return answers.isPresent();
    }

    boolean hasSession() {
        return isSse() || marks.containsKey(SESSION);
    }

    /** A text of what the server says of itself in its answer to {@code initialize}. */
    String told(String... path) {
        return JsonParts.string(welcome, path).orElse("");
    }

    /** The stream of all answers over HTTP+SSE. */
    TimedResponse answers() {
        return answers.orElseThrow();
    }

    /** Over HTTP+SSE, comes back to the session after the connection broke. */
    TimedResponse comeBack(String lastId) {
        TimedResponse stream = way.send("GET", way.uri(), Map.of("Last-Event-ID", lastId));
        answers = Optional.of(stream);
        stream.within(PATIENCE, TimedResponse::hasHead);
        return stream;
    }

    /** Another stream over HTTP+SSE, which may be compressed. */
    TimedResponse compressedStream() {
        TimedResponse stream = way.send("GET", way.uri(), COMPRESSED);
        stream.within(PATIENCE, TimedResponse::hasHead);
        return stream;
    }

    /** Listens, from an event on where one is named. */
    TimedResponse listen(Map<String, String> headers) {
        return way.send("GET", way.uri(), with(headers));
    }

    private Map<String, String> with(Map<String, String> headers) {
        Map<String, String> all = new HashMap<>(marks);
        all.putAll(headers);
        return all;
    }

    /** Sends a ping; once more if its connection broke before an answer, as one does that was kept for too long. */
    Echo ping() {
        return ping(Map.of(), 0);
    }

    /** The same with more headers, and with so many bytes more in its body. */
    Echo ping(Map<String, String> headers, int padding) {
        return ping(way, posts, with(headers), padding);
    }

    /** A ping in a session that there is not, or in none. */
    Echo strangePing(Optional<String> session) {
        Map<String, String> headers = new HashMap<>(marks);
        headers.remove(SESSION);
        session.ifPresent(id -> headers.put(SESSION, id));
        return ping(way, posts, headers, 0);
    }

    /** A ping by another HTTP client. */
    Echo pingBy(Way other) {
        return ping(other, posts, marks, 0);
    }

    private Echo ping(Way by, URI at, Map<String, String> headers, int padding) {
        int id = ids.incrementAndGet();
        String params = padding == 0 ? "{}" : "{\"_meta\":{\"padding\":\"" + "a".repeat(padding) + "\"}}";
        Predicate<TimedResponse> answered = each -> each.answer(id).isPresent() || each.isOver();
        Duration patience = padding == 0 ? PATIENCE : UPLOAD;
        TimedResponse response = by.post(at, headers, request(id, "ping", params));
        response.within(patience, answered);
        if (response.status() == 0 && response.isOver()) {
            response = by.post(at, headers, request(id, "ping", params));
            response.within(patience, answered);
        }
        boolean came = response.isGood()
                && answers.orElse(response).within(patience, answered)
                && answers.orElse(response).answer(id).isPresent();
        return new Echo(response, came);
    }

    /** Sends a ping whose answer nobody waits for. */
    void pingAway() {
        TimedResponse unused = way.post(posts, marks, request(ids.incrementAndGet(), "ping", "{}"));
    }

    /**
     * Pings until the session is refused, or for a while: some servers notice a cut by their next message only. Not on a thread that is
     * interrupted, which would wait for nothing.
     */
    Fate fate(Duration longest) {
        long deadline = System.nanoTime() + longest.toNanos();
        Echo last = ping();
        while (!last.isLost()
                && System.nanoTime() < deadline
                && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(PAUSE.toNanos());
            last = ping();
        }
        return last.isLost() ? Fate.LOST : last.isTaken() ? Fate.KEPT : Fate.UNKNOWN;
    }

    /** Calls a tool that tells its progress; its answer is watched, not awaited. */
    TimedResponse call(Tool tool) {
        int id = ids.incrementAndGet();
        TimedResponse response = way.post(
                posts,
                marks,
                request(
                        id,
                        "tools/call",
                        "{\"name\":" + JsonParts.quoted(tool.name()) + ",\"arguments\":" + tool.arguments()
                                + ",\"_meta\":{\"progressToken\":" + id + "}}"));
        return answers.orElse(response);
    }

    /** The id of the request that was sent last. */
    int lastId() {
        return ids.get();
    }

    /** Ends the session in order; the status is 0 where there is nothing to end. */
    int end() {
        answers.ifPresent(TimedResponse::cut);
        way.open().remove(this);
        if (isSse() || !hasSession()) {
            return 0;
        }
        TimedResponse ended = way.send("DELETE", way.uri(), marks);
        ended.within(PATIENCE, TimedResponse::isOver);
        return ended.status();
    }
}

package dev.holdfast.gateway.doctor;

import static dev.holdfast.gateway.doctor.Verdict.ok;
import static dev.holdfast.gateway.doctor.Verdict.problem;
import static dev.holdfast.gateway.doctor.Verdict.text;
import static dev.holdfast.gateway.doctor.Verdict.unknown;
import static dev.holdfast.gateway.doctor.Verdict.warning;

import dev.holdfast.EventId;
import dev.holdfast.client.Requests;
import dev.holdfast.gateway.doctor.TimedResponse.Arrival;
import dev.holdfast.gateway.doctor.Verdict.Level;
import dev.holdfast.gateway.doctor.Visit.Echo;
import dev.holdfast.gateway.doctor.Visit.Fate;
import dev.holdfast.gateway.doctor.Visit.NotOpened;
import dev.holdfast.gateway.doctor.Visit.Opened;
import dev.holdfast.gateway.doctor.Visit.Opening;
import dev.holdfast.gateway.doctor.Visit.Tool;
import dev.holdfast.json.JsonParts;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Measures what lies between a client and an MCP server, and what the server does when a connection breaks: by sessions of its own, which
 * it ends. It calls no tool but one that it is told to, or that of the built-in demo. For one thread, which waits.
 */
public final class Doctor implements AutoCloseable {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** How long anything may take that should come at once. */
    private static final Duration SOON = Duration.ofSeconds(3);
    /** How long the tool may take to tell the first of its progress, and to end. */
    private static final Duration CALL = Duration.ofSeconds(60);

    static final String ANOTHER_TOOL =
            "name a harmless tool that takes some seconds and tells its progress: --tool NAME";
    private static final String KEEP_EVENTS =
            "the server has to keep events for clients that come back: an event store, or Holdfast in its place or before it";
    private static final String LAST_EVENT_ID = "Last-Event-ID";
    private static final String DEMO = "holdfast-demo";
    /** How many steps the tool of the demo takes at least. */
    private static final int STEPS = 5;
    /** How many connections are opened to see whether all of them lead to the session. */
    private static final int CONNECTIONS = 8;

    /** In which order people read. */
    private static final List<String> ORDER = List.of(
            "session",
            "nodes",
            "http2",
            "unknown-session",
            "missing-session",
            "compression",
            "listening",
            "priming",
            "buffering",
            "headers",
            "body",
            "age",
            "idle",
            "resume",
            "come-back",
            "takeover",
            "session-kept",
            "delete");

    private final Way way;
    private final Duration time;
    private final Optional<Tool> tool;
    private final Consumer<String> progress;
    private final List<Verdict> verdicts = new ArrayList<>();
    private boolean demo;
    private boolean resumes;

    /**
     * One for a server.
     *
     * @param requests what each request carries
     * @param time how long streams are watched
     * @param tool a tool that may be called, and tells progress; empty for none
     * @param arguments its arguments, as JSON
     * @param progress takes a line now and then
     */
    public Doctor(
            URI uri,
            Requests requests,
            Duration time,
            Optional<String> tool,
            String arguments,
            Consumer<String> progress) {
        this.way = new Way(client(HttpClient.Version.HTTP_1_1), uri, requests, ConcurrentHashMap.newKeySet());
        this.time = time;
        this.tool = tool.map(name -> new Tool(name, arguments));
        this.progress = progress;
    }

    private static HttpClient client(HttpClient.Version version) {
        return HttpClient.newBuilder()
                .version(version)
                .connectTimeout(CONNECT_TIMEOUT)
                .build();
    }

    /** Does all of it. */
    public Report examine() {
        Opening opening = Visit.open(way);
        try {
            if (opening instanceof NotOpened not) {
                verdicts.add(not.verdict());
            } else if (opening instanceof Opened opened) {
                examine(opened.visit());
            }
        } finally {
            close();
        }
        verdicts.sort(Comparator.comparingInt(each -> ORDER.indexOf(each.check())));
        String shown = way.uri().getScheme() + "://" + way.uri().getRawAuthority()
                + way.uri().getRawPath();
        return new Report(shown, verdicts);
    }

    /** Ends the sessions that are open still, and waits a little for that. From any thread. */
    @Override
    public void close() {
        way.endAll(SOON);
    }

    private void examine(Visit visit) {
        demo = visit.told("result", "serverInfo", "name").equals(DEMO);
        session(visit);
        if (!reached(visit)) {
            return;
        }
        progress.accept("watching streams for " + time.toSeconds() + " s, and looking at the rest meanwhile");
        StreamWatch watch = new StreamWatch(way, time, length -> slow(length.plus(SOON)));
        try {
            http2(visit);
            Verdict buffering = visit.isSse() ? overSse(visit) : overStreamableHttp(visit);
            verdicts.addAll(Sizes.verdicts(way));
            watch.await(progress);
            verdicts.addAll(watch.verdicts(resumes));
            boolean passed = buffering.level() == Level.UNKNOWN && watch.isUnbuffered();
            verdicts.add(passed ? ok("buffering", "bytes pass while a stream is open") : buffering);
        } finally {
            watch.close();
        }
    }

    /** What to call for about so long: the demo's tool leaves nothing behind. */
    private Optional<Tool> slow(Duration length) {
        long millis = Math.min(length.toMillis(), 600_000);
        long steps = Math.min(1000, Math.max(STEPS, millis / 500));
        Tool slow = new Tool("slow", "{\"ms\":" + millis + ",\"steps\":" + steps + "}");
        return tool.or(() -> Optional.of(slow).filter(each -> demo));
    }

    private void session(Visit visit) {
        String server =
                visit.told("result", "serverInfo", "name") + " " + visit.told("result", "serverInfo", "version");
        String hop = visit.ping()
                .response()
                .header("Server")
                .map(name -> ", answered by " + name)
                .orElse("");
        String none = visit.hasSession() ? "" : "; it has no sessions, so there is none to lose";
        verdicts.add(ok(
                "session",
                (visit.isSse() ? "HTTP+SSE, " : "Streamable HTTP, ") + visit.told("result", "protocolVersion")
                        + ", server " + server.strip() + hop + none));
    }

    /** Whether each new connection leads to the session: what else would be found says nothing if not. */
    private boolean reached(Visit visit) {
        List<Echo> echoes = Stream.generate(() -> visit.pingBy(way.by(client(HttpClient.Version.HTTP_1_1))))
                .limit(CONNECTIONS)
                .toList();
        List<Echo> lost = echoes.stream().filter(Echo::isLost).toList();
        String all = " of " + CONNECTIONS + " requests, each on a connection of its own, ";
        Optional<Echo> failed = echoes.stream().filter(each -> !each.isTaken()).findFirst();
        if (!lost.isEmpty()) {
            verdicts.add(problem(
                            "nodes",
                            lost.size() + all + "were answered " + lost.get(0).status()
                                    + ": several servers stand behind the URL, and not all know the session;"
                                    + " nothing else was examined",
                            "let the balancer send a session always to the same one (nginx: hash $http_mcp_session_id"
                                    + " consistent; HAProxy: balance hdr(Mcp-Session-Id) with one for requests without it), or let"
                                    + " them share sessions (Holdfast: --store redis://HOST:PORT)")
                    .with("lost", lost.size())
                    .with("of", CONNECTIONS));
        } else if (failed.isPresent()) {
            verdicts.add(warning(
                    "nodes",
                    "not all" + all + "were answered: "
                            + failed.get().response().outcome(),
                    "see in the log of the balancer which server it was, and whether it runs"));
        } else {
            verdicts.add(ok("nodes", CONNECTIONS + all + "reached the session"));
        }
        return lost.isEmpty();
    }

    private void http2(Visit visit) {
        if (!"https".equalsIgnoreCase(way.uri().getScheme())) {
            verdicts.add(ok("http2", "not over plain HTTP: each stream takes a connection"));
            return;
        }
        Echo echo = visit.pingBy(way.by(client(HttpClient.Version.HTTP_2)));
        if (!echo.isTaken()) {
            verdicts.add(unknown(
                    "http2",
                    "a ping that offers HTTP/2 was answered: " + echo.response().outcome(),
                    "look whether the hop that ends TLS has HTTP/2 switched on"));
        } else if (echo.response().isHttp2()) {
            verdicts.add(ok("http2", "yes"));
        } else {
            verdicts.add(warning(
                    "http2",
                    "no: a browser has six connections to a server, and each stream takes one",
                    "switch it on in the hop that ends TLS (nginx: http2 on; HAProxy: alpn h2,http/1.1)"));
        }
    }

    /** Returns what there is to say of buffers so far. */
    private Verdict overStreamableHttp(Visit visit) {
        if (visit.hasSession()) {
            unknownSession(
                    visit, visit.strangePing(Optional.of(UUID.randomUUID().toString())), "an unknown session id");
            Echo missing = visit.strangePing(Optional.empty());
            String found = "a request without a session id is answered "
                    + missing.response().outcome();
            verdicts.add((missing.status() == 400
                            ? ok("missing-session", found)
                            : warning(
                                    "missing-session",
                                    found + ", where the specification has 400",
                                    "a client that lost its id cannot tell what is wrong: let the server answer 400"))
                    .with("status", missing.status()));
        }
        TimedResponse compressed = visit.listen(Visit.COMPRESSED);
        boolean prompt = compressed.within(SOON, each -> each.firstByte().isPresent() || each.isOver());
        Optional<String> coding = coding(compressed)
                .or(() -> coding(visit.ping(Visit.COMPRESSED, 0).response()));
        coding.ifPresent(each -> compressed.cut());
        TimedResponse listening = coding.isPresent() ? again(visit, Map.of()) : compressed;
        boolean head = listening.within(SOON, TimedResponse::hasHead) && listening.isGood() && listening.isStream();
        Duration more = coding.isPresent() ? SOON : Duration.ZERO;
        boolean bytes = head && listening.within(more, each -> each.firstByte().isPresent());
        verdicts.add(compression(coding, bytes && !prompt));
        TimedResponse posted = visit.ping().response();
        listening(listening, head);
        priming(listening, posted);
        Optional<Verdict> called = slow(Duration.ofSeconds(1)).map(each -> called(visit, each));
        if (called.isEmpty()) {
            verdicts.add(replayed(visit, posted));
        }
        listening.cut();
        if (head) {
            comeBack(
                    visit,
                    listening.lastId().map(id -> Map.of(LAST_EVENT_ID, id)).orElse(Map.of()));
        }
        if (visit.hasSession()) {
            end(visit, !listening.isRefused() || called.isPresent());
        }
        return called.filter(each -> each.level() != Level.UNKNOWN || !bytes)
                .orElseGet(() -> silence(listening, posted));
    }

    private void unknownSession(Visit visit, Echo echo, String what) {
        String found =
                "a request with " + what + " is answered " + echo.response().outcome();
        String advice =
                "by 404 clients know that they have to open another session: let the server say it, and every hop pass it on";
        Verdict verdict = echo.status() == 404
                ? ok("unknown-session", found)
                : visit.isSse()
                        ? warning("unknown-session", found + ", and not 404", advice)
                        : problem("unknown-session", found + ", and not 404", advice);
        verdicts.add(verdict.with("status", echo.status()));
    }

    private static Optional<String> coding(TimedResponse response) {
        return response.header("Content-Encoding").filter(each -> response.isStream() && !each.equals("identity"));
    }

    private static Verdict compression(Optional<String> coding, boolean held) {
        if (coding.isEmpty()) {
            return ok("compression", "event streams are not compressed");
        }
        String found = "event streams are compressed (" + coding.get() + ")";
        String advice = "switch it off for text/event-stream (nginx: gzip_types; HAProxy: compression type)";
        return held
                ? problem("compression", found + ", which holds their events back", advice)
                : warning("compression", found + ": events may wait in the compressor", advice);
    }

    private void listening(TimedResponse listening, boolean head) {
        if (head) {
            verdicts.add(ok("listening", "a listening GET is answered at once"));
        } else if (listening.status() == 405) {
            verdicts.add(ok(
                    "listening",
                    "the server has no listening stream (405), as it is free to: clients hear nothing between calls"));
        } else if (listening.status() == 0 && !listening.isOver()) {
            verdicts.add(warning(
                    "listening",
                    "the head of a listening GET has not come within " + text(SOON)
                            + ": the server sends none before its first message, or something holds it back",
                    "clients do not come back to a stream that was cut before its head: the server has to send it at"
                            + " once, as Holdfast does"));
        } else {
            String type =
                    listening.isGood() ? " and no event stream" : ", where the specification has a stream, or 405";
            verdicts.add(warning(
                    "listening",
                    "a listening GET is answered " + listening.outcome() + type,
                    "let every hop pass GET on to the server, with its Accept header"));
        }
    }

    private void priming(TimedResponse listening, TimedResponse posted) {
        if (listening.isPrimed() || posted.isPrimed()) {
            String which = !listening.isPrimed()
                    ? "streams of calls begin"
                    : posted.isPrimed() ? "all streams begin" : "the listening stream begins";
            verdicts.add(ok("priming", which + " with an event id, so that clients can come back at once"));
        } else {
            verdicts.add(warning(
                    "priming",
                    "no stream begins with an event id: what is cut before its first message cannot be resumed",
                    "the server has to send one (Holdfast does)"));
        }
    }

    /** What a stream on which something should come at once says of buffers, where there is no tool that does. */
    private static Verdict silence(TimedResponse listening, TimedResponse posted) {
        Optional<Duration> first = listening.firstByte().filter(each -> listening.isStream());
        boolean holdfast = Stream.of(listening, posted)
                .flatMap(each -> each.ids().stream())
                .anyMatch(id -> EventId.parse(id).isPresent());
        if (first.isPresent()) {
            return ok("buffering", "the first bytes of a stream came after " + text(first.get()))
                    .with("firstMillis", first.get().toMillis());
        }
        return holdfast
                ? problem(
                        "buffering",
                        "the first event of a stream has not come within " + text(SOON)
                                + ", and Holdfast sends it at once: something on the way holds streams back",
                        Verdict.UNBUFFER)
                : unknown(
                        "buffering",
                        "not examined, for the server sends nothing by itself that could be held back",
                        ANOTHER_TOOL);
    }

    /** Calls the tool, looks how its progress comes, cuts its stream, and comes back to it; returns what that says of buffers. */
    private Verdict called(Visit visit, Tool called) {
        TimedResponse call = visit.call(called);
        int id = visit.lastId();
        call.within(CALL, each -> isApart(each.progress()) || each.answer(id).isPresent() || each.isOver());
        boolean over = call.isOver();
        call.cut();
        List<Arrival> before = call.progress();
        boolean answered = call.answer(id).isPresent();
        verdicts.add(
                isApart(before) && !over && !answered
                        ? resumed(visit, call, id, before)
                        : unknown(
                                "resume",
                                "the stream of the tool " + called.name() + " could not be cut in its middle ("
                                        + call.outcome() + ")",
                                ANOTHER_TOOL));
        Duration first = before.isEmpty() ? Duration.ZERO : before.get(0).after();
        Verdict verdict;
        if (isApart(before)) {
            verdict = ok("buffering", "events of a call come one by one, the first after " + text(first));
        } else if (before.size() > 1 && answered && first.compareTo(TimedResponse.APART.multipliedBy(10)) > 0) {
            verdict = problem(
                    "buffering",
                    "all of a stream came at once after " + text(first)
                            + ", though its events were sent one after another",
                    Verdict.UNBUFFER);
        } else {
            verdict = unknown(
                    "buffering",
                    "not examined, for the tool " + called.name() + " told no progress in steps (" + call.outcome()
                            + ")",
                    ANOTHER_TOOL);
        }
        return verdict.with("firstMillis", first.toMillis());
    }

    /** Whether they did not come all in one piece. */
    private static boolean isApart(List<Arrival> arrivals) {
        return !arrivals.isEmpty()
                && arrivals.get(arrivals.size() - 1)
                                .after()
                                .minus(arrivals.get(0).after())
                                .compareTo(TimedResponse.APART)
                        > 0;
    }

    /** Listens again. A server that refuses a second connection may need a moment to see that the first one is gone. */
    private static TimedResponse again(Visit visit, Map<String, String> cursor) {
        long deadline = System.nanoTime() + SOON.toNanos();
        TimedResponse back = visit.listen(cursor);
        while (back.within(SOON, TimedResponse::hasHead) && back.status() == 409 && System.nanoTime() < deadline) {
            LockSupport.parkNanos(TimedResponse.APART.toNanos());
            back = visit.listen(cursor);
        }
        return back;
    }

    private static Verdict noIds() {
        return warning(
                "resume",
                "events have no ids, as the server is free to do: a call whose connection breaks loses its answer",
                KEEP_EVENTS);
    }

    /** Comes back to the stream of a call that was cut. */
    private Verdict resumed(Visit visit, TimedResponse call, int id, List<Arrival> before) {
        if (call.lastId().isEmpty()) {
            return noIds();
        }
        TimedResponse rest = again(visit, Map.of(LAST_EVENT_ID, call.lastId().get()));
        rest.within(tool.isPresent() ? CALL : SOON, each -> each.answer(id).isPresent() || each.isOver());
        boolean answered = rest.answer(id).isPresent();
        List<String> steps = Stream.concat(before.stream(), rest.progress().stream())
                .flatMap(each -> each.message().stream())
                .flatMap(message -> JsonParts.raw(message.bytes(), "params", "progress").stream())
                .toList();
        rest.cut();
        boolean whole = new HashSet<>(steps).size() == steps.size() && (tool.isPresent() || steps.size() == STEPS);
        resumes = answered && whole;
        if (resumes) {
            return ok(
                    "resume",
                    "a call that was cut after " + before.size() + " events was resumed: nothing lost, nothing twice");
        }
        return answered
                ? problem(
                        "resume",
                        "a call that was cut was resumed, but not exactly where it was: progress " + steps,
                        KEEP_EVENTS)
                : notReplayed("a call that was cut cannot be resumed: its", rest);
    }

    private static Verdict notReplayed(String whose, TimedResponse answer) {
        return warning(
                "resume",
                whose + " GET with Last-Event-ID is answered " + answer.outcome() + ", and the answer does not come",
                KEEP_EVENTS);
    }

    /** Asks again for an answer that has come, by the id before it: that is harmless, and needs no tool. */
    private Verdict replayed(Visit visit, TimedResponse posted) {
        if (!posted.isPrimed() || posted.arrivals().size() < 2) {
            return posted.isStream() && posted.ids().isEmpty()
                    ? noIds()
                    : unknown(
                            "resume",
                            "not examined, for no event id comes before an answer, by which it could be asked for again",
                            ANOTHER_TOOL);
        }
        TimedResponse rest = again(visit, Map.of(LAST_EVENT_ID, posted.ids().get(0)));
        resumes = rest.within(
                SOON,
                each -> each.arrivals().stream()
                        .flatMap(arrival -> arrival.message().stream())
                        .anyMatch(message -> message.id().isPresent()));
        rest.cut();
        return resumes
                ? ok("resume", "the answer to a call comes again to who asks for it by Last-Event-ID")
                : notReplayed("a", rest);
    }

    /** Comes back to the listening stream, which was cut, and takes it over. */
    private void comeBack(Visit visit, Map<String, String> cursor) {
        TimedResponse back = again(visit, cursor);
        String found = "a client that comes back to a listening stream that broke gets: " + back.outcome();
        if (!back.isGood()) {
            verdicts.add(
                    back.isOver()
                            ? problem("come-back", found, "the server has to let it (Holdfast does)")
                            : warning(
                                    "come-back",
                                    found + " within " + text(SOON),
                                    "the server has to send the head at once: clients may give up before"));
            back.cut();
            return;
        }
        verdicts.add(ok("come-back", "a client comes back to a listening stream that broke"));
        TimedResponse newest = visit.listen(cursor);
        newest.within(SOON, TimedResponse::hasHead);
        if (!newest.isGood()) {
            verdicts.add(
                    warning(
                            "takeover",
                            "while a connection is open, another one is answered: " + newest.outcome(),
                            "a client whose connection hangs is refused until the server notices; Holdfast lets the newest win"));
        } else if (back.within(SOON, TimedResponse::isOver)) {
            verdicts.add(ok("takeover", "the newest connection takes a stream over at once"));
        } else {
            verdicts.add(warning(
                    "takeover",
                    "two connections of a stream stay open side by side, as the server is free to do",
                    "what goes to one that hangs is lost; Holdfast lets the newest win"));
        }
        back.cut();
        newest.cut();
    }

    private Verdict overSse(Visit visit) {
        TimedResponse compressed = visit.compressedStream();
        Optional<String> coding = coding(compressed);
        boolean held = coding.isPresent()
                && !compressed.within(SOON, each -> each.firstByte().isPresent());
        compressed.cut();
        verdicts.add(compression(coding, held));
        boolean prompt = visit.ping().answered();
        boolean over = visit.answers().isOver();
        Optional<String> cursor = visit.answers().lastId();
        visit.answers().cut();
        resumes = cursor.isPresent()
                && visit.comeBack(cursor.get()).isGood()
                && visit.ping().answered();
        if (resumes) {
            verdicts.add(ok("resume", "a client whose stream broke comes back to its session"));
            end(visit, true);
        } else {
            Fate unused = visit.fate(SOON);
            unknownSession(visit, visit.ping(), "the id of a session whose stream is gone");
            verdicts.add(warning(
                    "resume",
                    "a session ends with its stream, as HTTP+SSE has it",
                    "use Streamable HTTP; or, with Holdfast, --sse-reconnect-grace"));
        }
        if (over && !prompt) {
            return unknown("buffering", "the stream ended before an answer came on it", "see what ends it so early");
        }
        return prompt
                ? ok("buffering", "an answer comes on the stream at once")
                : problem("buffering", "an answer has not come on the stream", Verdict.UNBUFFER);
    }

    /** Looks whether the session has outlived all of it, before any time limit of its own could end it, and ends it. */
    private void end(Visit visit, boolean wasCut) {
        Fate fate = visit.fate(wasCut ? SOON : Duration.ZERO);
        if (wasCut) {
            verdicts.add(
                    switch (fate) {
                        case KEPT -> ok("session-kept", "the session outlived connections that broke");
                        case LOST ->
                            problem(
                                    "session-kept",
                                    "this server loses the session when a connection breaks",
                                    "put Holdfast in the place of its transport, or in front of it");
                        case UNKNOWN ->
                            unknown(
                                    "session-kept",
                                    "requests that should tell are not answered",
                                    "see in the log of the server or the balancer what fails");
                    });
        }
        int status = visit.end();
        if (visit.isSse() || fate != Fate.KEPT) {
            return;
        }
        boolean gone = visit.ping().isLost();
        if (status / 100 == 2 && gone) {
            verdicts.add(ok("delete", "DELETE ends the session"));
        } else if (status == 405) {
            verdicts.add(ok(
                    "delete",
                    "the server refuses DELETE (405), as it is free to: ended sessions wait for its idle timeout"));
        } else {
            verdicts.add(warning(
                    "delete",
                    "DELETE is answered " + status + (gone ? "" : ", and the session stays"),
                    "let every hop pass DELETE on: until the idle timeout sessions stay that clients have ended"));
        }
    }
}

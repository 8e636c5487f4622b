package dev.holdfast.gateway.doctor;

import dev.holdfast.EventId;
import dev.holdfast.client.Requests;
import dev.holdfast.gateway.doctor.TimedResponse.Arrival;
import dev.holdfast.gateway.doctor.Visit.Echo;
import dev.holdfast.gateway.doctor.Visit.NotOpened;
import dev.holdfast.gateway.doctor.Visit.Opened;
import dev.holdfast.gateway.doctor.Visit.Opening;
import dev.holdfast.gateway.doctor.Visit.Tool;
import dev.holdfast.json.JsonParts;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Measures what lies between a client and an MCP server, and what the server does when a connection breaks: by sessions of its own, which
 * it ends. It calls no tool but one that it is told to, or that of the built-in demo. For one thread, which waits.
 */
public final class Doctor {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** How long anything may take that should come at once. */
    private static final Duration SOON = Duration.ofSeconds(3);
    /** How long the tool may take to tell the first of its progress, and to end. */
    private static final Duration CALL = Duration.ofSeconds(60);
    /** Two events that come closer together have come in one piece. */
    private static final Duration APART = Duration.ofMillis(30);

    private static final String ANOTHER_TOOL =
            "name a tool that does no harm, takes its time and tells progress: --tool";
    private static final String LAST_EVENT_ID = "Last-Event-ID";
    private static final String DEMO = "holdfast-demo";
    /** How many steps the tool of the demo takes. */
    private static final int STEPS = 5;

    private static final int KILO = 1024;
    private static final int ENOUGH_HEADERS = 4096;
    private static final int ENOUGH_BODY = 3_900_000;

    private final Way way;
    private final Duration time;
    private final Optional<Tool> tool;
    private final Consumer<String> progress;
    private final List<Verdict> verdicts = new ArrayList<>();
    private final List<Verdict> later = new ArrayList<>();
    private boolean demo;
    private boolean resumes;
    private boolean holdfast;

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
        this.way = new Way(client(HttpClient.Version.HTTP_1_1), uri, requests);
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
        if (opening instanceof NotOpened not) {
            verdicts.add(not.verdict());
        } else if (opening instanceof Opened opened) {
            examine(opened.visit());
        }
        String shown = way.uri().getScheme() + "://" + way.uri().getRawAuthority()
                + way.uri().getRawPath();
        return new Report(shown, verdicts);
    }

    private void examine(Visit visit) {
        demo = visit.told("result", "serverInfo", "name").equals(DEMO);
        session(visit);
        progress.accept("watching streams for " + time.toSeconds() + " s, and looking at the rest meanwhile");
        StreamWatch watch = new StreamWatch(way, time, this::toolFor);
        try {
            http2(visit);
            if (visit.isSse()) {
                overSse(visit);
            } else {
                overStreamableHttp(visit);
            }
            sizes();
            watch.await(progress);
            verdicts.addAll(watch.verdicts(resumes));
            verdicts.addAll(later);
            end(visit);
        } finally {
            watch.close();
        }
    }

    /** What to call for about so long: the demo's tool leaves nothing behind. */
    private Optional<Tool> toolFor(Duration length) {
        long millis = Math.min(length.toMillis() + SOON.toMillis(), 600_000);
        long steps = Math.min(1000, Math.max(STEPS, millis / 500));
        Tool slow = new Tool("slow", "{\"ms\":" + millis + ",\"steps\":" + steps + "}");
        return tool.or(() -> Optional.of(slow).filter(each -> demo));
    }

    private Optional<Tool> shortTool() {
        Tool slow = new Tool("slow", "{\"ms\":1000,\"steps\":" + STEPS + "}");
        return tool.or(() -> Optional.of(slow).filter(each -> demo));
    }

    private void session(Visit visit) {
        String server =
                visit.told("result", "serverInfo", "name") + " " + visit.told("result", "serverInfo", "version");
        String revision = visit.told("result", "protocolVersion");
        String name = visit.ping()
                .response()
                .header("Server")
                .map(hop -> ", answered by " + hop)
                .orElse("");
        String found =
                (visit.isSse() ? "HTTP+SSE, " : "Streamable HTTP, ") + revision + ", server " + server.strip() + name;
        verdicts.add(
                visit.hasSession()
                        ? Verdict.ok("session", found)
                        : Verdict.ok("session", found + "; it has no sessions, so there is none to lose"));
    }

    private void http2(Visit visit) {
        if (!"https".equalsIgnoreCase(way.uri().getScheme())) {
            verdicts.add(Verdict.ok("http2", "not over plain HTTP: each stream takes a connection"));
            return;
        }
        Echo echo = visit.pingBy(way.by(client(HttpClient.Version.HTTP_2)));
        if (!echo.isTaken()) {
            verdicts.add(Verdict.unknown(
                    "http2", "a ping was answered " + echo.response().outcome(), ""));
        } else if (echo.response().isHttp2()) {
            verdicts.add(Verdict.ok("http2", "yes"));
        } else {
            verdicts.add(Verdict.warning(
                    "http2",
                    "no: a browser has six connections to a server, and each stream takes one",
                    "switch it on in the hop that ends TLS (nginx: http2 on; HAProxy: alpn h2,http/1.1)"));
        }
    }

    private void overStreamableHttp(Visit visit) {
        if (visit.hasSession()) {
            status(
                    "unknown-session",
                    visit.strangePing(Optional.of(UUID.randomUUID().toString())),
                    404,
                    "a session that there is not");
            status("missing-session", visit.strangePing(Optional.empty()), 400, "no session id");
        }
        Echo echo = visit.ping(Visit.COMPRESSED, 0);
        TimedResponse listening = visit.listen(Visit.COMPRESSED);
        boolean prompt = listening.within(SOON, each -> each.hasBody() || each.isOver());
        Optional<String> coding = coding(listening).or(() -> coding(echo.response()));
        if (coding.isPresent()) {
            listening.cut();
            listening = visit.listen(Map.of());
        }
        TimedResponse first = listening;
        boolean head = first.within(SOON, TimedResponse::hasHead) && first.isGood() && first.isStream();
        boolean event = head && first.within(SOON, each -> !each.arrivals().isEmpty());
        boolean held = event && !prompt;
        verdicts.add(compression(coding, held));
        TimedResponse posted = visit.ping().response();
        holdfast = Stream.concat(first.ids().stream(), posted.ids().stream())
                .anyMatch(id -> EventId.parse(id).isPresent());
        listening(first, head);
        priming(first, posted);
        Optional<Verdict> buffered = called(visit);
        verdicts.add(buffered.orElseGet(() -> silence(first, event)));
        if (buffered.isEmpty()) {
            replay(visit, posted);
        }
        comeBack(visit, first, head);
    }

    private void status(String check, Echo echo, int wanted, String what) {
        String found = "a request with " + what + ": " + echo.response().outcome();
        boolean good = echo.status() == wanted;
        verdicts.add((good
                        ? Verdict.ok(check, found)
                        : Verdict.problem(
                                check,
                                found + ", and not " + wanted,
                                "by 404 clients know that they have to open another session: let every hop pass it on"))
                .with("status", echo.status()));
    }

    private static Optional<String> coding(TimedResponse response) {
        return response.header("Content-Encoding").filter(each -> response.isStream() && !each.equals("identity"));
    }

    private static Verdict compression(Optional<String> coding, boolean held) {
        if (coding.isEmpty()) {
            return Verdict.ok("compression", "event streams are not compressed");
        }
        String found = "event streams are compressed (" + coding.get() + ")";
        String advice = "switch it off for text/event-stream (nginx: gzip_types; HAProxy: compression type)";
        return held
                ? Verdict.problem("compression", found + ", which holds their events back", advice)
                : Verdict.warning("compression", found + ": events may wait in the compressor", advice);
    }

    private void listening(TimedResponse listening, boolean head) {
        if (head) {
            verdicts.add(Verdict.ok("listening", "a listening GET is answered at once"));
        } else if (listening.status() == 0 && !listening.isOver()) {
            verdicts.add(Verdict.warning(
                    "listening",
                    "the head of a listening GET has not come within " + Verdict.text(SOON)
                            + ": the server sends none before its first message, or something holds it back",
                    "clients do not come back to a stream that was cut before its head: the server has to send it at"
                            + " once, as Holdfast does"));
        } else {
            verdicts.add(Verdict.warning(
                    "listening",
                    "a listening GET is answered " + listening.outcome(),
                    "clients hear nothing between their calls"));
        }
    }

    private void priming(TimedResponse listening, TimedResponse posted) {
        boolean all = listening.isPrimed() && posted.isPrimed();
        if (all || listening.isPrimed() || posted.isPrimed()) {
            String which = all
                    ? "all streams begin"
                    : listening.isPrimed() ? "the listening stream begins" : "streams of calls begin";
            verdicts.add(Verdict.ok("priming", which + " with an event id, so that clients can come back at once"));
        } else {
            verdicts.add(Verdict.warning(
                    "priming",
                    "no stream begins with an event id: what is cut before its first message cannot be resumed",
                    "the server has to send one (Holdfast does)"));
        }
    }

    /** What a stream that should begin with an event at once says of buffers, where there is no tool. */
    private Verdict silence(TimedResponse listening, boolean event) {
        if (event) {
            Duration after = listening.arrivals().get(0).after();
            return Verdict.ok("buffering", "the first event of a stream came after " + Verdict.text(after))
                    .with("firstMillis", after.toMillis());
        }
        if (holdfast) {
            return Verdict.problem(
                    "buffering",
                    "the first event of a stream has not come within " + Verdict.text(SOON)
                            + ", and Holdfast sends it at once: something on the way holds streams back",
                    Verdict.UNBUFFER);
        }
        return Verdict.unknown("buffering", "the server sends nothing by itself that could be held back", ANOTHER_TOOL);
    }

    /** Calls the tool, if there is one, looks how its progress comes, cuts its stream, and comes back to it. */
    private Optional<Verdict> called(Visit visit) {
        Optional<Tool> called = shortTool();
        if (called.isEmpty()) {
            return Optional.empty();
        }
        TimedResponse call = visit.call(called.get());
        int id = visit.lastId();
        call.within(
                CALL,
                each -> spread(each.progress()).compareTo(APART) > 0
                        || each.answer(id).isPresent()
                        || each.isOver());
        List<Arrival> before = call.progress();
        boolean apart = spread(before).compareTo(APART) > 0;
        boolean answered = call.answer(id).isPresent();
        boolean over = answered || call.isOver();
        call.cut();
        if (apart && !over) {
            later.add(resumed(visit, call, id, before));
        } else {
            String why = "the stream of the tool " + called.get().name() + " could not be cut in its middle";
            later.add(Verdict.unknown("resume", why, ANOTHER_TOOL));
        }
        Duration first = before.isEmpty() ? Duration.ZERO : before.get(0).after();
        Verdict verdict;
        if (apart) {
            verdict =
                    Verdict.ok("buffering", "events of a call come one by one, the first after " + Verdict.text(first));
        } else if (before.size() > 1 && answered && first.compareTo(APART.multipliedBy(10)) > 0) {
            String found = "all of a stream came at once after " + Verdict.text(first)
                    + ", though its events were sent one after another";
            verdict = Verdict.problem("buffering", found, Verdict.UNBUFFER);
        } else {
            String why = "the tool " + called.get().name() + " told no progress in steps (" + call.outcome() + ")";
            verdict = Verdict.unknown("buffering", why, ANOTHER_TOOL);
        }
        return Optional.of(verdict.with("firstMillis", first.toMillis()));
    }

    private static Duration spread(List<Arrival> arrivals) {
        return arrivals.isEmpty()
                ? Duration.ZERO
                : arrivals.get(arrivals.size() - 1)
                        .after()
                        .minus(arrivals.get(0).after());
    }

    /** Comes back to the stream of a call that was cut. */
    private Verdict resumed(Visit visit, TimedResponse call, int id, List<Arrival> before) {
        if (call.lastId().isEmpty()) {
            return Verdict.problem(
                    "resume",
                    "events have no ids: a call whose connection breaks loses its answer",
                    "the server has to keep events (Holdfast does)");
        }
        TimedResponse rest = visit.listen(Map.of(LAST_EVENT_ID, call.lastId().get()));
        rest.within(SOON, each -> each.hasHead());
        rest.within(
                tool.isPresent() && rest.isGood() ? CALL : SOON,
                each -> each.answer(id).isPresent() || each.isOver());
        boolean answered = rest.answer(id).isPresent();
        List<String> steps = Stream.concat(before.stream(), rest.progress().stream())
                .flatMap(each -> each.message().stream())
                .flatMap(message -> JsonParts.raw(message.bytes(), "params", "progress").stream())
                .toList();
        rest.cut();
        boolean whole = new HashSet<>(steps).size() == steps.size() && (tool.isPresent() || steps.size() == STEPS);
        resumes = answered && whole;
        if (resumes) {
            return Verdict.ok(
                    "resume",
                    "a call that was cut after " + before.size() + " events was resumed: nothing lost, nothing twice");
        }
        return Verdict.problem(
                "resume",
                answered
                        ? "a call that was cut was resumed, but not exactly where it was: progress " + steps
                        : "a call that was cut cannot be resumed: its GET with Last-Event-ID is answered "
                                + rest.outcome() + ", and the answer does not come",
                "the server has to keep events (Holdfast does)");
    }

    /** Asks again for an answer that has come, by the id before it: that is harmless, and needs no tool. */
    private void replay(Visit visit, TimedResponse posted) {
        if (!posted.isPrimed() || posted.arrivals().size() < 2) {
            boolean without = posted.isStream() && posted.ids().isEmpty();
            later.add(
                    without
                            ? Verdict.problem(
                                    "resume",
                                    "events have no ids: a call whose connection breaks loses its answer",
                                    "the server has to keep events (Holdfast does)")
                            : Verdict.unknown(
                                    "resume",
                                    "there is no event id before an answer, by which it could be asked for again",
                                    ANOTHER_TOOL));
            return;
        }
        TimedResponse again = visit.listen(Map.of(LAST_EVENT_ID, posted.ids().get(0)));
        resumes = again.within(
                SOON,
                each -> each.arrivals().stream()
                        .anyMatch(arrival -> arrival.message()
                                .filter(message -> message.id().isPresent())
                                .isPresent()));
        again.cut();
        later.add(
                resumes
                        ? Verdict.ok("resume", "the answer to a call comes again to who asks for it by Last-Event-ID")
                        : Verdict.problem(
                                "resume",
                                "a GET with Last-Event-ID is answered " + again.outcome()
                                        + ", and the answer does not come",
                                "the server has to keep events (Holdfast does)"));
    }

    /** Cuts the listening stream, comes back, and takes it over. */
    private void comeBack(Visit visit, TimedResponse listening, boolean head) {
        listening.cut();
        if (!head) {
            return;
        }
        Map<String, String> cursor =
                listening.lastId().map(id -> Map.of(LAST_EVENT_ID, id)).orElse(Map.of());
        long deadline = System.nanoTime() + SOON.toNanos();
        TimedResponse back = visit.listen(cursor);
        back.within(SOON, TimedResponse::hasHead);
        while (back.status() == 409 && System.nanoTime() < deadline) {
            LockSupport.parkNanos(APART.toNanos());
            back = visit.listen(cursor);
            back.within(SOON, TimedResponse::hasHead);
        }
        if (!back.isGood()) {
            later.add(Verdict.problem(
                    "come-back",
                    "a client that comes back to a listening stream that broke gets: " + back.outcome(),
                    "the server has to let it (Holdfast does)"));
            return;
        }
        TimedResponse before = back;
        TimedResponse newest = visit.listen(cursor);
        newest.within(SOON, TimedResponse::hasHead);
        if (!newest.isGood()) {
            later.add(
                    Verdict.warning(
                            "takeover",
                            "while a connection is open, another one is answered " + newest.outcome(),
                            "a client whose connection hangs is refused until the server notices; Holdfast lets the newest win"));
        } else if (before.within(SOON, TimedResponse::isOver)) {
            later.add(Verdict.ok("takeover", "the newest connection takes a stream over at once"));
        } else {
            later.add(Verdict.warning(
                    "takeover",
                    "two connections of a stream stay open side by side",
                    "what goes to one that hangs is lost; Holdfast lets the newest win"));
        }
        before.cut();
        newest.cut();
    }

    private void overSse(Visit visit) {
        TimedResponse compressed = visit.compressedStream();
        boolean held = coding(compressed).isPresent() && !compressed.within(SOON, TimedResponse::hasBody);
        compressed.cut();
        verdicts.add(compression(coding(compressed), held));
        Echo echo = visit.ping();
        verdicts.add(
                echo.answered()
                        ? Verdict.ok("buffering", "an answer comes on the stream at once")
                        : Verdict.problem("buffering", "an answer has not come on the stream", Verdict.UNBUFFER));
        boolean before = visit.answers().lastId().isPresent();
        String cursor = visit.answers().lastId().orElse("");
        visit.answers().cut();
        holdfast = EventId.parse(cursor).isPresent();
        resumes = before && visit.comeBack(cursor).isGood() && visit.ping().answered();
        if (!resumes) {
            status("unknown-session", visit.lastPing(SOON), 404, "the id of a session whose stream is gone");
        }
        later.add(
                resumes
                        ? Verdict.ok("resume", "a client whose stream broke comes back to its session")
                        : Verdict.warning(
                                "resume",
                                "a session ends with its stream, as HTTP+SSE has it",
                                "use Streamable HTTP; or, with Holdfast, --sse-reconnect-grace"));
    }

    /** In a session of its own: that of the others may be lost by now. */
    private void sizes() {
        if (Visit.open(way) instanceof Opened opened) {
            Visit[] visit = {opened.visit()};
            BiFunction<Map<String, String>, Integer, Echo> ping = (headers, padding) -> {
                Echo echo = visit[0].ping(headers, padding);
                // a session over HTTP+SSE may have ended with its stream meanwhile
                if (!echo.isTaken() && visit[0].isSse() && Visit.open(way) instanceof Opened again) {
                    visit[0].end();
                    visit[0] = again.visit();
                    return visit[0].ping(headers, padding);
                }
                return echo;
            };
            verdicts.add(new SizeLimit(
                            "headers", "a header", size -> ping.apply(Map.of("X-Padding", "a".repeat(size)), 0))
                    .between(
                            KILO,
                            64 * KILO,
                            ENOUGH_HEADERS,
                            "long tokens are refused: raise the limit (nginx: large_client_header_buffers, HAProxy:"
                                    + " tune.bufsize)"));
            verdicts.add(new SizeLimit("body", "a body", size -> ping.apply(Map.of(), size))
                    .between(
                            KILO,
                            8 * KILO * KILO,
                            ENOUGH_BODY,
                            "raise the limit (nginx: client_max_body_size 4m, Holdfast: --max-request-size)"));
            visit[0].end();
        }
    }

    /** Looks whether the session has outlived all of it, and ends it. */
    private void end(Visit visit) {
        if ((visit.isSse() && !resumes) || !visit.hasSession()) {
            visit.end();
            return;
        }
        boolean kept = visit.ping().isTaken();
        boolean told = verdicts.stream().anyMatch(each -> each.figures().getOrDefault("kept", 1L) == 0);
        if (!kept && !told) {
            verdicts.add(Verdict.problem(
                    "session-kept",
                    "this server loses the session when a connection breaks",
                    "put Holdfast in the place of its transport, or in front of it"));
        } else if (!told) {
            verdicts.add(Verdict.ok("session-kept", "the session outlived connections that broke"));
        }
        int status = visit.end();
        if (visit.isSse() || !kept) {
            return;
        }
        boolean gone = !visit.ping().isTaken();
        verdicts.add(
                status / 100 == 2 && gone
                        ? Verdict.ok("delete", "DELETE ends the session")
                        : Verdict.warning(
                                "delete",
                                "DELETE is answered " + status + (gone ? "" : ", and the session stays"),
                                "sessions that clients have ended wait for their idle timeout"));
    }
}

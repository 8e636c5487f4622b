package dev.holdfast.servlet.console;

import dev.holdfast.EngineStats;
import dev.holdfast.SessionDescription;
import dev.holdfast.SessionDescription.OfStream;
import dev.holdfast.SessionState;
import dev.holdfast.Termination;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonParts;
import dev.holdfast.servlet.console.ConsoleFeed.Seen;
import dev.holdfast.servlet.console.ConsoleFeed.Subject;
import java.lang.ref.SoftReference;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the page of the console shows, as JSON. It looks at all sessions only when somebody asks, and for a part of the time at most:
 * what it has found counts for two seconds, and for fifty times as long as it took to look, up to a minute. Nothing of it is on the way of
 * a call, and to look at a session changes nothing of it. Safe for use by any thread.
 */
public final class Console {
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** What was found counts no longer, for a look that hung takes no processor. */
    private static final long STALE_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Of so many seconds one is spent on looking, at most. */
    private static final int PART = 50;

    private static final long LONGEST_WAIT_MILLIS = 2_000;
    private static final int MOST_PARKED = 10_000;
    private static final int MOST_ROWS = 200;
    private static final int MOST_STREAMS = 100;
    private static final int MOST_NEWS = 300;
    private static final int SHORT = 8;

    private static final Comparator<Row> NEWEST = Comparator.comparingLong(row -> row.age);
    private static final Map<String, Comparator<Row>> ORDERS = Map.of(
            "oldest", NEWEST.reversed(),
            "largest", Comparator.<Row>comparingLong(row -> row.bytes).reversed(),
            "busiest", Comparator.<Row>comparingInt(row -> row.calls).reversed());

    private final Supplier<List<Server>> servers;
    private final Function<Viewer, Map<String, String>> failed;
    private final ConsoleFeed feed;
    private final InstantSource wallClock;
    private final LongSupplier clock;
    private final ReentrantLock looking = new ReentrantLock();
    /** Not kept where memory is short. */
    private volatile SoftReference<Look> last = new SoftReference<>(null);
    /** How many sessions were ended here. */
    private final AtomicInteger ended = new AtomicInteger();

    /**
     * A console.
     *
     * @param servers those that are served now
     * @param failed what a viewer is told of servers that could not be started or changed, by their names; of what concerns none of them,
     *     by an empty name
     * @param feed what happens to their sessions
     * @param wallClock dates what it tells
     * @param clock monotonic, in nanoseconds
     */
    public Console(
            Supplier<List<Server>> servers,
            Function<Viewer, Map<String, String>> failed,
            ConsoleFeed feed,
            InstantSource wallClock,
            LongSupplier clock) {
        this.servers = servers;
        this.failed = failed;
        this.feed = feed;
        this.wallClock = wallClock;
        this.clock = clock;
    }

    /**
     * A server that is served.
     *
     * @param name its name among others; empty for the only one
     * @param runs what it is, in a few words that are no secret; for those who see all
     * @param node the name of this node; empty where it is the only one
     * @param store where its sessions are kept
     * @param trouble what is wrong with the store; empty if nothing is
     * @param children its processes; empty where it has none
     */
    public record Server(
            String name,
            String runs,
            String node,
            SessionEngine engine,
            String store,
            Supplier<String> trouble,
            Supplier<Optional<Children>> children) {}

    /**
     * Processes of a server.
     *
     * @param most how many there may be
     * @param started how many were started
     * @param died how many have ended before they were told to, or could not be started
     * @param running those that there are, or the first of them: the number of each, with the shortened id of its session, empty before it
     *     has one
     */
    public record Children(int now, int most, long started, long died, Map<Long, String> running) {}

    /**
     * Who looks.
     *
     * @param principal empty for nobody in particular
     * @param all whether that is somebody who sees the sessions of all principals, and not of this one alone
     */
    public record Viewer(String principal, boolean all) {
        private boolean sees(String owner) {
            return all || owner.equals(principal);
        }
    }

    /** A session in a list: in memory, or waiting in the store. */
    private record Row(
            Server server,
            String id,
            String kind,
            String client,
            String principal,
            String state,
            String revision,
            long age,
            int readers,
            int calls,
            long bytes,
            long messages) {
        static Row of(Server server, SessionDescription session) {
            String client = (session.client().name() + " " + session.client().version()).strip();
            return new Row(
                    server,
                    session.shortId(),
                    session.kind(),
                    client,
                    session.principal(),
                    lower(session.state()),
                    session.revision(),
                    session.age().toSeconds(),
                    session.streams(),
                    session.runningCalls(),
                    session.keptBytes(),
                    session.keptMessages());
        }

        static Row of(Server server, SessionDescription.Parked session) {
            return new Row(
                    server,
                    session.shortId(),
                    "session",
                    "",
                    session.principal(),
                    PARKED,
                    "",
                    session.since().toSeconds(),
                    0,
                    0,
                    session.bytes(),
                    0);
        }

        boolean matches(String search) {
            return Stream.of(id, client, principal, server.name, state, revision, kind)
                    .anyMatch(text -> text.toLowerCase(Locale.ROOT).contains(search));
        }

        String json() {
            return new Json()
                    .text("server", server.name)
                    .text("node", server.node)
                    .text("id", id)
                    .text("kind", kind)
                    .text("client", client)
                    .text("principal", principal)
                    .text("state", state)
                    .text("revision", revision)
                    .number("age", age)
                    .number("readers", readers)
                    .number("calls", calls)
                    .number("bytes", bytes)
                    .number("messages", messages)
                    .object();
        }
    }

    private static final String PARKED = "parked";

    /** A process. */
    private record Child(Subject session, long pid, String owner) {}

    /**
     * All that there was when somebody looked.
     *
     * @param ended how many sessions had been ended here
     * @param servers for those who see all
     * @param ofOthers the same for a principal
     */
    private record Look(
            long at, long took, int ended, List<Row> rows, String servers, String ofOthers, List<Child> children) {}

    /**
     * What the page shows.
     *
     * @param asked the parameters of the page's request, by name: {@code search}, {@code state}, {@code on} (a server), {@code order},
     *     {@code from} and {@code rows} for the list; {@code server} and {@code session} for the one that is shown in detail;
     *     {@code after}, the number of the last thing that the page knows to have happened. What is missing or wrong has its default
     * @return empty where nothing was found yet, as while a disk hangs
     */
    public Optional<String> data(Viewer viewer, Map<String, String> asked) {
        return look().map(look -> shown(look, viewer, asked));
    }

    private String shown(Look look, Viewer viewer, Map<String, String> asked) {
        Json all = new Json()
                .number("now", wallClock.millis())
                .number("life", feed.life())
                .text("principal", viewer.principal)
                .raw("all", Boolean.toString(viewer.all))
                .raw("servers", viewer.all ? look.servers : look.ofOthers)
                .raw("failed", failed(viewer))
                .raw("children", children(look, viewer))
                .raw("sessions", sessions(look, viewer, asked))
                .raw("feed", news(viewer, number(asked, "after", 0)));
        String session = asked.getOrDefault("session", "");
        if (!session.isEmpty()) {
            all.raw("detail", detail(viewer, asked.getOrDefault("server", ""), session));
        }
        return all.object();
    }

    /**
     * Ends a session for good that the viewer sees.
     *
     * @return completes when the store does not have it any more; fails if the store could not say so yet
     */
    public CompletionStage<Termination> end(Viewer viewer, String server, String session) {
        return named(server)
                .map(found -> found.engine.terminate(session, viewer::sees))
                .orElseGet(() -> CompletableFuture.completedFuture(Termination.UNKNOWN))
                .whenComplete((done, failure) -> {
                    if (failure != null || done == Termination.ENDED) {
                        ended.incrementAndGet();
                    }
                });
    }

    private Optional<Server> named(String name) {
        return servers.get().stream().filter(each -> each.name.equals(name)).findFirst();
    }

    /** One thread looks. Others get what was found before, and wait for it where that is nothing; but not for long, for it may hang. */
    private Optional<Look> look() {
        Optional<Look> before = Optional.ofNullable(last.get());
        if (before.filter(this::counts).isPresent() || !begins(before.isPresent() ? 0 : LONGEST_WAIT_MILLIS)) {
            return before;
        }
        try {
            Optional<Look> meanwhile = Optional.ofNullable(last.get()).filter(this::counts);
            return meanwhile.isPresent() ? meanwhile : Optional.of(lookNow());
        } finally {
            looking.unlock();
        }
    }

    private boolean counts(Look look) {
        return look.ended == ended.get()
                && clock.getAsLong() - look.at < Math.max(FRESH_NANOS, Math.min(PART * look.took, STALE_NANOS));
    }

    private boolean begins(long millis) {
        try {
            return looking.tryLock(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private Look lookNow() {
        long now = clock.getAsLong();
        int endedBefore = ended.get();
        List<Server> served = servers.get();
        List<Row> rows = new ArrayList<>();
        List<Json> told = new ArrayList<>();
        for (Server server : served) {
            server.engine.sessions().map(session -> Row.of(server, session)).forEach(rows::add);
            server.engine
                    .parkedSessions()
                    .limit(MOST_PARKED)
                    .map(session -> Row.of(server, session))
                    .forEach(rows::add);
            told.add(json(server));
        }
        Map<Subject, String> owners = new HashMap<>();
        rows.forEach(row -> owners.put(new Subject(row.server.name, row.id), row.principal));
        feed.owners(owners);
        List<Child> children = new ArrayList<>();
        served.forEach(server -> server.children
                .get()
                .ifPresent(all -> all.running.forEach((pid, session) -> {
                    Subject subject = new Subject(server.name, session);
                    children.add(new Child(subject, pid, owners.getOrDefault(subject, "")));
                })));
        long done = clock.getAsLong();
        String all = told.stream().map(Json::object).collect(ARRAY);
        String ofOthers =
                told.stream().map(json -> json.text("runs", "").object()).collect(ARRAY);
        Look next = new Look(done, done - now, endedBefore, rows, all, ofOthers, children);
        last = new SoftReference<>(next);
        return next;
    }

    private static Json json(Server server) {
        EngineStats stats = server.engine.stats();
        Json states = new Json();
        for (SessionState state : SessionState.values()) {
            if (state != SessionState.CLOSED) {
                states.number(lower(state), stats.states().getOrDefault(state, 0));
            }
        }
        Json json = new Json()
                .text("name", server.name)
                .text("runs", server.runs)
                .text("node", server.node)
                .text("state", server.engine.draining() ? "draining" : "serving")
                .text("store", server.store)
                .text("trouble", server.trouble.get())
                .raw("states", states.number(PARKED, stats.parked()).object())
                .number("sessions", stats.sessions())
                .number("carriers", stats.carriers())
                .number("connections", stats.connections())
                .number("calls", stats.runningCalls())
                .number("bytes", stats.historyBytes())
                .number("resumed", stats.resumed())
                .number("gaps", stats.gaps())
                .number("restored", stats.restored())
                .number("dropped", stats.dropped())
                .number("timedOut", stats.timedOut());
        server.children
                .get()
                .ifPresent(children -> json.raw(
                        "children",
                        new Json()
                                .number("now", children.now)
                                .number("most", children.most)
                                .number("started", children.started)
                                .number("died", children.died)
                                .object()));
        return json;
    }

    private String failed(Viewer viewer) {
        return failed.apply(viewer).entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .map(each -> new Json()
                        .text("name", each.getKey())
                        .text("why", each.getValue())
                        .object())
                .collect(ARRAY);
    }

    private static String children(Look look, Viewer viewer) {
        return look.children.stream()
                .filter(child -> viewer.all || child.owner.equals(viewer.principal))
                .map(child -> new Json()
                        .text("server", child.session.server())
                        .text("session", child.session.shortId())
                        .number("pid", child.pid)
                        .object())
                .collect(ARRAY);
    }

    private String sessions(Look look, Viewer viewer, Map<String, String> asked) {
        String search = asked.getOrDefault("search", "").strip().toLowerCase(Locale.ROOT);
        String state = asked.getOrDefault("state", "");
        String on = asked.getOrDefault("on", "");
        List<Row> seen =
                look.rows.stream().filter(row -> viewer.sees(row.principal)).toList();
        List<Row> found = seen.stream()
                .filter(row -> state.isEmpty() || row.state.equals(state))
                .filter(row -> on.isEmpty() || row.server.name.equals(on))
                .filter(row -> search.isEmpty() || row.matches(search))
                .sorted(ORDERS.getOrDefault(asked.getOrDefault("order", ""), NEWEST)
                        .thenComparing(row -> row.id))
                .toList();
        long rows = Math.max(1, Math.min(MOST_ROWS, number(asked, "rows", 50)));
        long from = Math.max(0, Math.min(number(asked, "from", 0), Math.max(0, found.size() - 1) / rows * rows));
        return new Json()
                .number("all", seen.size())
                .number("found", found.size())
                .number("from", from)
                .number("old", TimeUnit.NANOSECONDS.toSeconds(clock.getAsLong() - look.at))
                .raw(
                        "rows",
                        found.stream().skip(from).limit(rows).map(Row::json).collect(ARRAY))
                .object();
    }

    private String news(Viewer viewer, long after) {
        List<Seen> found = feed.after(after).stream()
                .filter(seen -> viewer.all || seen.owner().filter(viewer::sees).isPresent())
                .toList();
        return found.stream()
                .skip(Math.max(0, found.size() - MOST_NEWS))
                .map(seen -> new Json()
                        .number("number", seen.entry().number)
                        .number("at", seen.entry().at)
                        .text("server", seen.entry().subject.server())
                        .text("session", seen.entry().subject.shortId())
                        .text("what", seen.entry().word)
                        .text("text", seen.entry().text)
                        .text("detail", seen.entry().detail)
                        .number("count", seen.count())
                        .raw("rest", Boolean.toString(seen.entry().rest))
                        .object())
                .collect(ARRAY);
    }

    /** One session with its streams; null where there is none, or it waits in the store. */
    private String detail(Viewer viewer, String server, String session) {
        Optional<Server> found = named(server);
        return found.stream()
                .flatMap(each -> each.engine.sessions(session))
                .filter(each -> viewer.sees(each.session().principal()))
                .findFirst()
                .map(each -> new Json()
                        .raw("session", Row.of(found.get(), each.session()).json())
                        .number("streams", each.streams().size())
                        .raw("shown", streams(each.streams()))
                        .object())
                .orElse("null");
    }

    /** The listening stream, those that go on, then the newest. */
    private static String streams(List<OfStream> streams) {
        List<OfStream> newest = new ArrayList<>(streams);
        newest.sort(Comparator.comparing((OfStream stream) -> !stream.name().equals("0.0"))
                .thenComparing(stream -> stream.end().isPresent())
                .thenComparing(Console::begun, Comparator.reverseOrder()));
        return newest.stream()
                .limit(MOST_STREAMS)
                .map(stream -> new Json()
                        .text("name", stream.name())
                        .number("first", stream.first())
                        .number("last", stream.last())
                        .number("waiting", stream.waiting())
                        .number("dropped", stream.dropped())
                        .number("confirmed", stream.confirmed())
                        .number("events", stream.events())
                        .number("bytes", stream.bytes())
                        .raw("cursors", stream.cursors().toString())
                        .text("end", stream.end().map(Console::lower).orElse(""))
                        .object())
                .collect(ARRAY);
    }

    /** Greater for a stream that began later: its epoch, then its number. */
    private static double begun(OfStream stream) {
        int dot = stream.name().indexOf('.');
        return Integer.parseInt(stream.name().substring(0, dot)) * 1e10
                + Long.parseLong(stream.name().substring(dot + 1));
    }

    private static long number(Map<String, String> asked, String name, long otherwise) {
        try {
            return Long.parseLong(asked.getOrDefault(name, ""));
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** The part of a session's id that is no credential. */
    public static String shortened(String sessionId) {
        return sessionId.length() <= SHORT ? sessionId : sessionId.substring(0, SHORT);
    }

    private static final Collector<CharSequence, ?, String> ARRAY = Collectors.joining(",", "[", "]");

    /** A JSON object that is written member by member. */
    private static final class Json {
        private final Map<String, String> members = new LinkedHashMap<>();

        Json text(String name, String text) {
            return raw(name, JsonParts.quoted(text));
        }

        Json number(String name, long number) {
            return raw(name, Long.toString(number));
        }

        Json raw(String name, String json) {
            members.put(name, json);
            return this;
        }

        String object() {
            return JsonParts.object(members);
        }
    }
}

package dev.holdfast.benchmarks.compare;

import static dev.holdfast.benchmarks.result.Figure.ALLOCATED;
import static dev.holdfast.benchmarks.result.Figure.P50;
import static dev.holdfast.benchmarks.result.Figure.P99;
import static dev.holdfast.benchmarks.result.Figure.RATE;
import static dev.holdfast.benchmarks.result.Figure.RESIDENT;
import static dev.holdfast.benchmarks.result.Goal.atLeast;
import static dev.holdfast.benchmarks.result.Goal.atMost;
import static dev.holdfast.benchmarks.result.Goal.atMostBeyond;

import dev.holdfast.benchmarks.compare.Contest.Trial;
import dev.holdfast.benchmarks.load.BroadcastLoad;
import dev.holdfast.benchmarks.load.ReturnLoad;
import dev.holdfast.benchmarks.load.Workload;
import dev.holdfast.benchmarks.result.Figure;
import dev.holdfast.benchmarks.result.Goal;
import dev.holdfast.benchmarks.result.ScenarioResult;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Stream;

/** All scenarios, with what is asked of each. */
final class Scenarios {
    private static final Duration FIRST = Duration.ofSeconds(30);
    private static final int FEW_SESSIONS = 100;
    private static final int SOME_SESSIONS = 1_000;
    private static final int MANY_SESSIONS = 10_000;
    private static final int PARKED_SESSIONS = 100_000;
    private static final int MOST_NODES = 5;

    private final ComparedServers peers;
    private final Path scratch;

    /**
     * Scenarios with these servers.
     *
     * @param scratch a folder for what servers write
     */
    Scenarios(ComparedServers peers, Path scratch) {
        this.peers = peers;
        this.scratch = scratch;
    }

    /** What {@code benchmarks/run compare} measures, in this order. */
    List<Scenario> all() {
        return List.of(
                echo("immediate", "jetty"),
                echo("sync", "jetty"),
                echo("immediate", "tomcat"),
                echo("sync", "tomcat"),
                messages(),
                spring(),
                meters(),
                stateless(),
                others(),
                store(),
                redis(),
                gateway(),
                upstream("upstream", peers.typescript()),
                upstream("upstream-java", peers.server("official", "sync", "jetty")),
                crowd(),
                growth(),
                parked(),
                nodes(),
                listening("broadcast", "a message to all clients that listen", BroadcastLoad::new, 0.8),
                listening("return", "all clients cut at once, and back with their cursors", ReturnLoad::new, 0.67),
                start());
    }

    /**
     * This build beside an earlier one: no call slower, no byte more.
     *
     * @param earlier the peers of the earlier build
     */
    List<Scenario> beside(ComparedServers earlier) {
        return List.of(
                beside(earlier, "immediate-jetty", Workload.ECHO, of -> of.server("holdfast", "immediate", "jetty")),
                beside(earlier, "sync-jetty", Workload.ECHO, of -> of.server("holdfast", "sync", "jetty")),
                beside(earlier, "immediate-tomcat", Workload.ECHO, of -> of.server("holdfast", "immediate", "tomcat")),
                beside(earlier, "sync-tomcat", Workload.ECHO, of -> of.server("holdfast", "sync", "tomcat")),
                beside(earlier, "rocksdb", Workload.ECHO, of -> of.server("rocksdb", "immediate", "jetty")),
                beside(earlier, "redis", Workload.ECHO, of -> of.server("redis", "immediate", "jetty")),
                beside(earlier, "gateway", Workload.FEW, ComparedServers::gateway));
    }

    private Scenario beside(
            ComparedServers earlier, String name, Workload load, Function<ComparedServers, Peer> server) {
        return new Contest(
                "earlier-" + name,
                "this build beside an earlier one: " + name,
                List.of(server.apply(peers), server.apply(earlier).named("earlier")),
                List.of(new Trial(load, List.of(atLeast(1.0, RATE, "earlier"), atMost(1.0, ALLOCATED, "earlier")))));
    }

    private Scenario echo(String variant, String container) {
        boolean immediate = variant.equals("immediate");
        return new Contest(
                variant + "-" + container,
                "an echo tool, " + variant + " execution, in " + container,
                List.of(
                        peers.server("holdfast", variant, container),
                        peers.server("official", variant, container),
                        peers.server("floor", variant, container),
                        peers.sdk(variant)),
                List.of(
                        new Trial(
                                Workload.ECHO,
                                List.of(
                                        atLeast(immediate ? 1.5 : 1.25, RATE, "official"),
                                        atLeast(immediate ? 0.7 : 0.8, RATE, ScenarioResult.LIMIT),
                                        atMost(1.0, P99, "official"),
                                        atMost(0.7, ALLOCATED, "official"))),
                        new Trial(
                                Workload.SHARED,
                                List.of(atLeast(1.2, RATE, "official"), atMost(1.0, P99, "official")))));
    }

    private Scenario messages() {
        List<Goal> goals = List.of(atLeast(1.0, RATE, "official"), atMost(1.0, P99, "official"));
        return new Contest(
                "messages",
                "many notifications on a call's stream, and large answers",
                List.of(peers.server("holdfast", "immediate", "jetty"), peers.server("official", "immediate", "jetty")),
                List.of(
                        new Trial(Workload.PROGRESS, goals),
                        new Trial(Workload.LARGE, goals),
                        new Trial(Workload.HUGE, goals)));
    }

    private Scenario spring() {
        return new Contest(
                "spring",
                "a Spring AI server in Spring Boot, with Holdfast's starter and without",
                List.of(peers.springHoldfast(), peers.springAi()),
                List.of(new Trial(
                        Workload.ECHO, List.of(atLeast(1.5, RATE, "spring-ai"), atMost(1.0, P99, "spring-ai")))));
    }

    private Scenario meters() {
        return new Contest(
                "meters",
                "Holdfast's starter in Spring Boot: with meters, with an observation of each call too, with neither",
                List.of(peers.springMetered(), peers.springObserved(), peers.springHoldfast()),
                List.of(new Trial(
                        Workload.ECHO, List.of(atLeast(0.97, RATE, "holdfast"), atMost(1.03, ALLOCATED, "holdfast")))));
    }

    /** Each request a session of its own, as by default, and one session for all of a principal. */
    private Scenario stateless() {
        List<Goal> goals = List.of(atLeast(0.8, RATE, "holdfast"));
        return new Contest(
                "stateless",
                "calls of 2026-07-28, which name no session, beside those of a session",
                List.of(
                        peers.stateless("holdfast", "immediate", "jetty").named("stateless"),
                        peers.stateless("principal", "immediate", "jetty"),
                        peers.server("holdfast", "immediate", "jetty")),
                List.of(new Trial(Workload.ECHO, goals)));
    }

    private Scenario others() {
        return new Contest(
                "others",
                "servers of other makers",
                List.of(peers.server("holdfast", "sync", "jetty"), peers.quarkus(), peers.typescript()),
                List.of(new Trial(Workload.ECHO, List.of())));
    }

    private Scenario store() {
        return new Contest(
                "store",
                "sessions on disk beside those in memory",
                List.of(peers.server("rocksdb", "immediate", "jetty"), peers.server("holdfast", "immediate", "jetty")),
                List.of(new Trial(
                        Workload.ECHO, List.of(atLeast(0.85, RATE, "holdfast"), atMost(1.2, P99, "holdfast")))));
    }

    /** One connection tells what Redis adds to a call that waits for nobody else. */
    private Scenario redis() {
        return new Contest(
                "redis",
                "a node whose sessions are in a Redis on this machine, beside sessions in memory",
                List.of(peers.server("redis", "immediate", "jetty"), peers.server("holdfast", "immediate", "jetty")),
                List.of(
                        new Trial(Workload.ECHO, List.of(atLeast(0.5, RATE, "holdfast"))),
                        new Trial(Workload.ECHO.over(1), List.of())));
    }

    private Scenario gateway() {
        return new Contest(
                "gateway",
                "gateways in front of a fast stdio child",
                List.of(peers.gateway(), peers.supergateway(), peers.mcpProxy()),
                List.of(new Trial(
                        Workload.FEW,
                        List.of(
                                atLeast(5, RATE, "supergateway"),
                                atLeast(5, RATE, "mcp-proxy"),
                                atMost(1.0, RESIDENT, "supergateway"),
                                atMost(1.0, RESIDENT, "mcp-proxy")))));
    }

    /** One connection tells what the gateway adds to a call that waits for nobody else. */
    private Scenario upstream(String name, Peer server) {
        String direct = server.name();
        return new Contest(
                name,
                "the gateway in front of a server over HTTP, beside that server alone: " + direct,
                peers.upstream(server),
                List.of(
                        new Trial(Workload.FEW, List.of(atLeast(0.6, RATE, direct))),
                        new Trial(Workload.FEW.over(1), List.of(atMostBeyond(1.0, P50, direct)))));
    }

    private Scenario crowd() {
        Peer server = peers.server("holdfast", "immediate", "jetty");
        String few = FEW_SESSIONS + " sessions";
        return new Contest(
                "crowd",
                "what sessions that do nothing cost those that do",
                List.of(
                        server.named(MANY_SESSIONS + " sessions").with(Crowd.of(MANY_SESSIONS)),
                        server.named(few).with(Crowd.of(FEW_SESSIONS))),
                List.of(new Trial(Workload.ECHO, List.of(atLeast(0.9, RATE, few), atMost(1.1, ALLOCATED, few)))));
    }

    private Scenario growth() {
        return new Contest(
                "growth",
                "calls beside sessions that listen and do nothing",
                Stream.of(MANY_SESSIONS, SOME_SESSIONS, FEW_SESSIONS)
                        .map(count -> peers.server("holdfast", "immediate", "jetty")
                                .named(attached(count))
                                .with(Crowd.attached(count)))
                        .toList(),
                List.of(new Trial(Workload.ECHO, likeFew())));
    }

    /** The server with the crowd is started on a folder that has the sessions which are not in memory. */
    private Scenario parked() {
        Path folder = scratch.resolve("parked");
        Contest contest = new Contest(
                "parked",
                "calls beside sessions on disk, of which some listen and most are not in memory",
                List.of(
                        peers.on(folder, "rocksdb")
                                .named(attached(MANY_SESSIONS) + ", 100,000 parked")
                                .with(Crowd.attached(MANY_SESSIONS)),
                        peers.server("rocksdb", "immediate", "jetty")
                                .named(attached(FEW_SESSIONS))
                                .with(Crowd.attached(FEW_SESSIONS))),
                List.of(new Trial(Workload.ECHO, likeFew())));
        return new Filled(contest, peers.on(folder, "filling"), PARKED_SESSIONS);
    }

    private static String attached(int sessions) {
        return String.format(Locale.ROOT, "%,d attached", sessions);
    }

    private static List<Goal> likeFew() {
        return List.of(atLeast(0.9, RATE, attached(FEW_SESSIONS)), atMost(1.1, ALLOCATED, attached(FEW_SESSIONS)));
    }

    private Scenario nodes() {
        return new Nodes("nodes", "nodes on one Redis", MOST_NODES, peers::node, Workload.ECHO);
    }

    /** @param least what is asked of the rate, over that of the floor */
    private Scenario listening(String name, String title, Peer.Loading loading, double least) {
        return new Contest(
                name,
                title,
                Stream.of("holdfast", "floor")
                        .map(kind -> peers.server(kind, "immediate", "jetty").with(loading))
                        .toList(),
                List.of(new Trial(
                        Workload.listening("one message each", MANY_SESSIONS),
                        List.of(atLeast(least, RATE, "floor")))));
    }

    private Scenario start() {
        return new ColdStart(
                "start",
                "calls answered in the first seconds after the start",
                List.of(peers.server("holdfast", "immediate", "jetty"), peers.server("official", "immediate", "jetty")),
                Workload.ECHO,
                FIRST,
                List.of(atLeast(1.0, RATE, "official")));
    }

    /**
     * What every change has to pass: what a busy machine disturbs has wide margins, and the bytes per call, which it does not, a narrow
     * one.
     */
    Scenario check() {
        return new Contest(
                "check",
                "no step back: Holdfast beside the floor and the official transport",
                List.of(
                        peers.server("holdfast", "immediate", "jetty"),
                        peers.server("official", "immediate", "jetty"),
                        peers.server("floor", "immediate", "jetty")),
                List.of(new Trial(
                        Workload.ECHO,
                        List.of(
                                atLeast(0.4, RATE, "official"),
                                atLeast(0.15, RATE, "floor"),
                                atMost(2.8, Figure.CPU, "official"),
                                atMost(0.95, ALLOCATED, "official")))));
    }
}

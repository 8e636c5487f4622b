package dev.holdfast.gateway.stdio;

import dev.holdfast.ByteBudget;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.TestOptions;
import dev.holdfast.spi.Backend.OpenRequest;
import dev.holdfast.spi.Backend.Opened;
import dev.holdfast.spi.Backend.Outcome;
import dev.holdfast.spi.Backend.Refused;
import dev.holdfast.spi.Backend.Unreachable;
import dev.holdfast.spi.BackendConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** A stdio backend with one session, whose streams remember. Closing it ends every process that it started. */
public final class StdioBed implements AutoCloseable {
    static final StdioOptions HASTY = TestOptions.graces(Duration.ofMillis(300), Duration.ofMillis(300));

    /** A script that reads to the end of its input, and keeps its output open. */
    static final String READS = "while read line; do :; done";

    private static final int MOST_CHILDREN = 1_000;

    final RecordedListening listening = new RecordedListening();
    final StdioBackend backend;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private int life;

    StdioBed(ServerCommand command, StdioOptions options) {
        this(command, options, Processes.ofThisMachine());
    }

    StdioBed(ServerCommand command, StdioOptions options, Processes processes) {
        backend = new StdioBackend("", command, options, processes, MOST_CHILDREN, clock, ByteBudget.ofHeap());
    }

    StdioBed(ServerCommand command, StdioOptions options, int openings) {
        this(command, options, openings, ByteBudget.ofHeap());
    }

    StdioBed(ServerCommand command, StdioOptions options, ByteBudget outputs) {
        this(command, options, StdioBackend.mostOpenings(), outputs);
    }

    private StdioBed(ServerCommand command, StdioOptions options, int openings, ByteBudget outputs) {
        backend = new StdioBackend(
                "", command, options, Processes.ofThisMachine(), MOST_CHILDREN, clock, openings, outputs);
    }

    /** Runs a shell script as the server; {@code $1} and so on are the arguments. */
    public static ServerCommand script(String script, Object... args) {
        List<String> words = new ArrayList<>(List.of("/bin/sh", "-c", script, "server"));
        for (Object arg : args) {
            words.add(arg.toString());
        }
        return new ServerCommand(words);
    }

    /** A script that first answers {@code initialize}. */
    static ServerCommand initialized(String script, Object... args) {
        return script("read line; echo '" + TestJson.INITIALIZED_RESULT + "'; " + script, args);
    }

    /** A bed for a script that first answers {@code initialize}, and is given little time to end. */
    static StdioBed running(String script, Object... args) {
        return new StdioBed(initialized(script, args), HASTY);
    }

    CompletionStage<Outcome> open() {
        return backend.open(
                new OpenRequest(TestJson.inbound(TestJson.INITIALIZE), "", "s." + ++life, false), listening);
    }

    BackendConnection opened() {
        return opened(open());
    }

    static BackendConnection opened(CompletionStage<Outcome> opening) {
        return ((Opened) Wait.until(opening)).connection();
    }

    /** The text of the refusal. */
    String refusal() {
        Outcome outcome = Wait.until(open());
        return TestJson.text(
                outcome instanceof Refused refused ? refused.response() : ((Unreachable) outcome).response());
    }

    @Override
    public void close() {
        backend.close();
        clock.shutdownNow();
    }
}

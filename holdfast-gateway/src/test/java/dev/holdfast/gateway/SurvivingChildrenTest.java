package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Children that outlive a gateway which nobody has asked to end. */
@Tag("jdk")
@Timeout(180)
class SurvivingChildrenTest {
    /** Minds neither the end of its input nor TERM, and has a child of its own. */
    private static final String STUBBORN =
            "trap '' TERM; echo \"$$\" >> \"$1\"; read line; echo '" + TestJson.of(TestJson.INITIALIZED_RESULT)
                    + "'; sleep 300 & echo \"$!\" >> \"$1\"; while :; do sleep 1; done";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<GatewayProcess> started = new ArrayList<>();
    private Pids child = new Pids(List.of());

    @AfterEach
    void end() {
        started.forEach(GatewayProcess::close);
        for (int i = 0; i < child.pids().size(); i++) {
            child.kill(i);
        }
    }

    private GatewayProcess serving(ServerCommand command) throws IOException {
        return serving(folder, command);
    }

    private GatewayProcess serving(Path where, ServerCommand command) throws IOException {
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0", "--"));
        args.addAll(command.words());
        GatewayProcess gateway = GatewayProcess.start(where, args);
        started.add(gateway);
        return gateway;
    }

    @Test
    void theNextGatewayOnTheFolderEndsWhatIsLeft() throws IOException, InterruptedException {
        Path notes = folder.resolve("pids");
        ServerCommand command = StdioBed.script(STUBBORN, notes);
        GatewayProcess first = serving(command);
        HttpPeer.connected(first.url());
        child = Pids.readFrom(notes, 2);

        first.process().destroyForcibly().waitFor();
        assertThat(child.run()).as("the children run on").isTrue();
        serving(command).url();

        assertThat(child.ended()).as("ended before anybody is served").isTrue();
        assertThat(Files.readString(folder.resolve("holdfast-data/CHILDREN")).lines())
                .hasSizeBetween(2, 4);
    }

    @Test
    void aGatewayOnACopyOfTheFolderLeavesTheChildrenOfTheRunningOneAlone() throws IOException, InterruptedException {
        Path notes = folder.resolve("pids");
        ServerCommand command = StdioBed.script(STUBBORN, notes);
        HttpPeer.connected(serving(command).url());
        child = Pids.readFrom(notes, 2);
        Path trial = Files.createDirectory(folder.resolve("trial"));
        Process copy =
                new ProcessBuilder("cp", "-r", folder.resolve("holdfast-data").toString(), trial.toString()).start();
        assertThat(copy.waitFor(Wait.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(copy.exitValue()).isZero();
        assertThat(Files.readString(trial.resolve("holdfast-data/CHILDREN")))
                .contains("\n+" + child.pids().get(0) + " ");

        serving(trial, command).url();

        assertThat(child.run()).as("the children run on").isTrue();
    }
}

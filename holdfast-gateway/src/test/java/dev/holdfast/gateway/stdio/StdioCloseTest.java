package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.Json;
import dev.holdfast.gateway.Pids;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.CountedProcesses;
import dev.holdfast.gateway.process.ProcessTrees;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.spi.BackendConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class StdioCloseTest {
    private static final StdioOptions PATIENT =
            StdioOptions.DEFAULT.withGraces(Duration.ofSeconds(15), Duration.ofSeconds(15));

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void aChildThatEndsWithItsInputIsGivenTheTimeItTakes() {
        Path done = folder.resolve("done");
        String script = "while read line; do :; done; sleep 0.2; touch \"$1\"";
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, done), PATIENT)) {
            BackendConnection connection = bed.opened();

            Wait.until(connection.close());

            assertThat(done).exists();
            assertThat(bed.listening.losses).isEmpty();
            assertThat(bed.backend.size()).isZero();
        }
    }

    @Test
    void whatWasWrittenBeforeTheCloseIsRead() {
        Path copy = folder.resolve("copy");
        try (StdioBed bed = new StdioBed(StdioBed.initialized("cat > \"$1\"", copy), PATIENT)) {
            BackendConnection connection = bed.opened();
            connection.notify(Json.inbound("{'jsonrpc':'2.0','method':'notifications/last'}"));

            Wait.until(connection.close());

            assertThat(copy).content().isEqualTo(Json.notification("notifications/last") + "\n");
        }
    }

    @Test
    void aChildThatIgnoresTheEndOfItsInputGetsTerm() {
        Path term = folder.resolve("term");
        ServerCommand traps = StdioBed.script(
                "trap 'touch \"$1\"; exit' TERM; read line; echo '" + Json.INITIALIZED_RESULT
                        + "'; while :; do sleep 0.05; done",
                term);
        StdioOptions patientAfterTerm = StdioOptions.DEFAULT.withGraces(Duration.ofMillis(300), Duration.ofSeconds(10));
        try (StdioBed bed = new StdioBed(traps, patientAfterTerm)) {
            Wait.until(bed.opened().close());

            assertThat(term).exists();
        }
    }

    @Test
    void aGrandchildThatIgnoresTermIsGoneAfterKill() {
        Path pids = folder.resolve("pids");
        String script = "(trap '' TERM; while :; do sleep 0.05; done) & echo \"$$ $!\" > \"$1\"; " + StdioBed.READS;
        try (StdioBed bed = StdioBed.running(script, pids)) {
            BackendConnection connection = bed.opened();
            Pids both = Pids.readFrom(pids, 2);

            Wait.until(connection.close());

            assertThat(both.ended()).isTrue();
        }
    }

    @Test
    void aGroupThatAHelperHasLeftStoppedIsGoneAfterKill() {
        Path pids = folder.resolve("pids");
        String script = "sleep 100 & kill -STOP $!; echo \"$$ $!\" > \"$1\"; " + StdioBed.READS;
        try (StdioBed bed = StdioBed.running(script, pids)) {
            BackendConnection connection = bed.opened();
            Pids both = Pids.readFrom(pids, 2);

            Wait.until(connection.close());

            assertThat(both.ended()).isTrue();
        }
    }

    @Test
    void closingAgainChangesNothing() {
        try (StdioBed bed = new StdioBed(StdioBed.initialized(StdioBed.READS), PATIENT)) {
            BackendConnection connection = bed.opened();

            assertThat(connection.close()).isSameAs(connection.close());
            Wait.until(connection.close());
        }
    }

    @Test
    void noChildOutlivesTheBackend() {
        Path pids = folder.resolve("pids");
        String script = "trap '' TERM; sleep 100 & echo \"$$ $!\" > \"$1\"; wait; sleep 100";
        StdioBed bed = StdioBed.running(script, pids);
        bed.opened();
        Pids both = Pids.readFrom(pids, 2);

        bed.close();

        assertThat(both.ended()).isTrue();
    }

    @Test
    void theTreeOfAChildIsEndedWhereThereAreNoGroups() {
        Path pids = folder.resolve("pids");
        String script = "trap '' TERM; (trap '' TERM; sleep 100; sleep 100) & echo \"$$ $!\" > \"$1\"; wait; sleep 100";
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, pids), StdioBed.HASTY, new ProcessTrees())) {
            BackendConnection connection = bed.opened();
            Pids both = Pids.readFrom(pids, 2);

            Wait.until(connection.close());

            assertThat(both.ended()).isTrue();
        }
    }

    @Test
    void manyChildrenThatEndTogetherAreLookedAtAndSignalledTogether() {
        int children = 100;
        CountedProcesses processes = new CountedProcesses(Processes.ofThisMachine());
        try (StdioBed bed = new StdioBed(StdioBed.initialized("trap '' TERM; " + StdioBed.READS), PATIENT, processes)) {
            List<BackendConnection> all = IntStream.range(0, children).mapToObj(child -> bed.open()).toList().stream()
                    .map(StdioBed::opened)
                    .toList();

            all.stream().map(BackendConnection::close).toList().forEach(Wait::until);

            assertThat(bed.backend.size()).isZero();
            assertThat(processes.looks()).isBetween(1, 2 * children);
            assertThat(processes.signals()).isLessThan(children);
        }
    }

    @Test
    void thisMachineHasProcessGroups() {
        assertThat(ServerCommand.find("setsid").map(Files::isExecutable)).contains(true);
    }
}

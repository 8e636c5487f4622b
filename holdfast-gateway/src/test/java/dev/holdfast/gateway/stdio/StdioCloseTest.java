package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.Pids;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.CountedProcesses;
import dev.holdfast.gateway.process.ProcessTrees;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.TestOptions;
import dev.holdfast.spi.BackendConnection;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("jdk")
@Timeout(60)
class StdioCloseTest {
    private static final StdioOptions PATIENT = TestOptions.graces(Duration.ofSeconds(15), Duration.ofSeconds(15));

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
            connection.notify(TestJson.inbound("{'jsonrpc':'2.0','method':'notifications/last'}"));

            Wait.until(connection.close());

            assertThat(copy).content().isEqualTo(TestJson.notification("notifications/last") + "\n");
        }
    }

    @Test
    void aChildThatIgnoresTheEndOfItsInputGetsTerm() {
        Path term = folder.resolve("term");
        ServerCommand traps = StdioBed.script(
                "trap 'touch \"$1\"; exit' TERM; read line; echo '" + TestJson.INITIALIZED_RESULT
                        + "'; while :; do sleep 0.05; done",
                term);
        StdioOptions patientAfterTerm = TestOptions.graces(Duration.ofMillis(300), Duration.ofSeconds(10));
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

    /** Every thread that waits for a child, and every pipe of this process. */
    private static List<String> held() {
        List<String> held = new ArrayList<>();
        Thread.getAllStackTraces().forEach((thread, stack) -> {
            if (Arrays.stream(stack).anyMatch(frame -> frame.getClassName().startsWith("java.lang.ProcessImpl"))
                    || Arrays.stream(stack)
                            .anyMatch(frame -> frame.getMethodName().matches("readBytes|writeBytes")
                                    && thread.getName().startsWith("holdfast-child"))) {
                held.add(thread.getName());
            }
        });
        File[] files = Objects.requireNonNull(new File("/proc/self/fd").listFiles());
        for (File file : files) {
            try {
                String name = Files.readSymbolicLink(file.toPath()).toString();
                if (name.startsWith("pipe:")) {
                    held.add(name);
                }
            } catch (IOException e) {
                // closed meanwhile
            }
        }
        return held;
    }

    /** A helper that is silent, one that never stops talking, and one that has the input, too, which it does not read. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "exec sleep 100",
                "trap '' PIPE; while :; do echo noise; echo noise >&2; done",
                "exec yes",
                "exec sleep 100 <&3"
            })
    void aHelperThatLeftItsGroupHoldsNeitherThreadsNorFiles(String helper) throws IOException {
        Path pids = folder.resolve("pids");
        String script = "exec 3<&0; setsid sh -c 'echo $$ >>\"$1\"; " + helper.replace("'", "'\\''")
                + "' helper \"$1\" & read line; echo '" + TestJson.INITIALIZED_RESULT + "'; exec sleep 100";
        try (StdioBed bed = new StdioBed(StdioBed.script(script, pids), StdioBed.HASTY)) {
            List<String> before = held();
            BackendConnection connection = bed.opened();
            Pids left = Pids.readFrom(pids, 1);
            // more than a pipe takes: whoever writes it waits
            connection.notify(TestJson.inbound(
                    "{'jsonrpc':'2.0','method':'notifications/x','params':{'x':'" + "x".repeat(200_000) + "'}}"));
            try {
                Wait.until(connection.close());

                Wait.until("all is free", () -> before.containsAll(held()));
                assertThat(bed.backend.leftBehind()).isOne();
                assertThat(left.pids()).hasSize(1);
            } finally {
                left.kill(0);
            }
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

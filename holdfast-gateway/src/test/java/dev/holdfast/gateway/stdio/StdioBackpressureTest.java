package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.TestOptions;
import dev.holdfast.spi.BackendConnection;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("jdk")
@Timeout(60)
class StdioBackpressureTest {
    private static final String LINE = TestJson.of(
            "{'jsonrpc':'2.0','method':'notifications/message','params':{'data':'" + "x".repeat(1000) + "'}}");
    private static final int BOUND = 10_000;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void aChildIsNotReadFurtherWhileTooMuchWaitsForTheStore() {
        Path written = folder.resolve("written");
        String script =
                "i=0; while [ $i -lt 500 ]; do echo \"$1\"; i=$((i+1)); done; echo done > \"$2\"; " + StdioBed.READS;
        StdioOptions bounded = TestOptions.uncommittedBytes(StdioBed.HASTY, BOUND);
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, LINE, written), bounded)) {
            CompletableFuture<Void> commit = new CompletableFuture<>();
            bed.listening.commit = commit;
            bed.opened();
            int most = BOUND / LINE.length() + 1;
            Wait.until("the bound is reached", () -> bed.listening.waiting() == most);
            assertThat(written).doesNotExist();

            bed.listening.commit = CompletableFuture.completedFuture(null);
            commit.complete(null);

            Wait.until("all has come", () -> bed.listening.waiting() == 500);
        }
    }

    @Test
    void aChildThatIsHeldBackAgainAndAgainIsFoundDeadNevertheless() {
        String script = "while echo \"$1\"; do sleep 0.01; done";
        StdioOptions bounded =
                TestOptions.queuedBytes(TestOptions.uncommittedBytes(StdioBed.HASTY, 2L * LINE.length()), BOUND);
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, LINE), bounded)) {
            bed.listening.commit = new CompletableFuture<>();
            BackendConnection connection = bed.opened();
            Wait.until("it is held back", () -> bed.listening.waiting() > 2);

            // more than fits into the pipe and the queue of a child that does not read
            for (int i = 0; i < 200; i++) {
                connection.notify(TestJson.inbound(LINE));
            }

            AtomicInteger read = new AtomicInteger();
            AtomicInteger releases = new AtomicInteger();
            Wait.until("it is found dead", () -> {
                if (bed.listening.waiting() > read.get() + 2) { // it is held back again
                    read.set(bed.listening.waiting());
                    releases.incrementAndGet();
                    CompletableFuture<Void> held = bed.listening.commit;
                    bed.listening.commit = new CompletableFuture<>();
                    held.complete(null);
                }
                return !bed.listening.losses.isEmpty();
            });
            assertThat(releases).as("it was held back all the time").hasValueGreaterThan(2);
            assertThat(Wait.next(bed.listening.losses)).isEqualTo("the server process does not read its input");
        }
    }

    private static long heldReaders() {
        return Thread.getAllStackTraces().values().stream()
                .filter(frames -> Arrays.stream(frames)
                        .anyMatch(frame -> frame.getMethodName().equals("awaitReady")))
                .count();
    }

    @Test
    void noReaderWaitsBehindTheEndOfTheBackend() {
        String script = "while echo \"$1\"; do :; done";
        StdioOptions bounded = TestOptions.uncommittedBytes(StdioBed.HASTY, BOUND);
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, LINE), bounded)) {
            bed.listening.commit = new CompletableFuture<>();
            bed.opened();
            Wait.until("it is held back", () -> heldReaders() == 1);

            bed.backend.close();

            Wait.until("its reader has ended", () -> heldReaders() == 0);
        }
    }

    @Test
    void aChildThatSaysTooMuchBeforeItsAnswerToInitializeIsRefusedAtOnce() {
        String script = "while echo \"$1\"; do :; done";
        StdioOptions bounded = TestOptions.uncommittedBytes(StdioBed.HASTY, BOUND);
        try (StdioBed bed = new StdioBed(StdioBed.script(script, LINE), bounded)) {
            bed.listening.commit = new CompletableFuture<>();

            assertThat(bed.refusal())
                    .contains("sent more than " + BOUND + " bytes of other messages before it answered initialize");
        }
    }

    @Test
    void aChildThatIsHeldBackCanBeClosed() {
        String script = "while echo \"$1\"; do :; done";
        StdioOptions bounded = TestOptions.uncommittedBytes(StdioBed.HASTY, BOUND);
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, LINE), bounded)) {
            bed.listening.commit = new CompletableFuture<>();
            BackendConnection connection = bed.opened();
            Wait.until("the bound is reached", () -> bed.listening.waiting() > BOUND / LINE.length());

            Wait.until(connection.close());

            assertThat(bed.backend.size()).isZero();
        }
    }
}

package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.Pids;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.TestOptions;
import dev.holdfast.spi.BackendConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("jdk")
@Timeout(60)
class StdioDeathTest {
    private static final Duration AT_ONCE = Duration.ofSeconds(15);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void killingTheLauncherIsDeathThoughItsChildLivesOn() throws IOException {
        Path pids = folder.resolve("pids");
        String script = "sleep 100 & echo \"$$ $!\" > \"$1\"; wait";
        try (StdioBed bed = StdioBed.running(script, pids)) {
            bed.opened();
            Pids both = Pids.readFrom(pids, 2);

            both.kill(0);

            assertThat(loss(bed)).isEqualTo("the server process was ended by signal 9");
            Wait.until("the orphan is gone too", both::ended);
        }
    }

    @Test
    void killingTheServerUnderALauncherIsDeathThoughTheLauncherLivesOn() throws IOException {
        Path pids = folder.resolve("pids");
        String script = "exec 3<&0; cat <&3 & echo \"$$ $!\" > \"$1\"; exec 3<&- >/dev/null; wait; sleep 100";
        try (StdioBed bed = StdioBed.running(script, pids)) {
            bed.opened();
            Pids both = Pids.readFrom(pids, 2);

            both.kill(1);

            assertThat(loss(bed)).isEqualTo("the server process closed its output");
            Wait.until("the launcher is gone too", both::ended);
        }
    }

    @Test
    void theEndOfItsOutputIsDeathThoughTheChildLivesOn() throws IOException {
        try (Puppet child = new Puppet(folder)) {
            child.call(1, "tools/call");

            child.fallsSilent();

            assertThat(loss(child.listening())).isEqualTo("the server process closed its output");
        }
    }

    @Test
    void whatTheChildSaysBeforeItExitsStillArrives() {
        String script = "read line; echo '" + TestJson.result(1) + "'; exit 7";
        try (StdioBed bed = StdioBed.running(script)) {
            RecordedCall call = new RecordedCall();
            BackendConnection connection = bed.opened();

            connection.call(TestJson.request(1, "tools/call"), call);

            assertThat(loss(bed)).isEqualTo("the server process exited with code 7");
            assertThat(call.next()).isEqualTo(TestJson.result(1));
        }
    }

    @Test
    void deathIsReportedOnce() {
        String script = "echo bye >&2; exec >&-; exec 2>&-; exit 1";
        try (StdioBed bed = StdioBed.running(script)) {
            BackendConnection connection = bed.opened();
            loss(bed);

            Wait.until(connection.close());

            assertThat(bed.listening.losses).isEmpty();
        }
    }

    @Test
    void aCallToADeadChildIsGivenBack() {
        try (StdioBed bed = StdioBed.running("exit 4")) {
            BackendConnection connection = bed.opened();
            loss(bed);

            connection.call(TestJson.request(1, "tools/call"), new RecordedCall());

            assertThat(loss(bed)).isEqualTo("the server process exited with code 4");
            assertThat(bed.listening.givenBack).containsExactly("1");
        }
    }

    @Test
    void aReplayToADeadChildTellsOfTheDeathAndIsNotRefused() {
        try (StdioBed bed = StdioBed.running("exit 4")) {
            BackendConnection connection = bed.opened();
            loss(bed);
            RecordedCall replayed = new RecordedCall();

            connection.replay(TestJson.request(1, "logging/setLevel"), replayed);

            assertThat(replayed.waiting()).isZero();
            assertThat(loss(bed)).isEqualTo("the server process exited with code 4");
        }
    }

    @Test
    void aLineBeyondTheLimitIsDeath() {
        String script = "head -c 3000 /dev/zero | tr '\\0' x; " + StdioBed.READS;
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script), TestOptions.lineBytes(StdioBed.HASTY, 2000))) {
            bed.opened();

            assertThat(loss(bed)).isEqualTo("the server process sent a line longer than 2000 bytes");
            Wait.until("the child is gone", () -> bed.backend.size() == 0);
        }
    }

    @Test
    void aChildThatDoesNotReadItsInputIsDeadWhenTooMuchWaits() {
        try (StdioBed bed =
                new StdioBed(StdioBed.initialized("sleep 100"), TestOptions.queuedBytes(StdioBed.HASTY, 200_000))) {
            BackendConnection connection = bed.opened();
            String big = "{'jsonrpc':'2.0','method':'x','params':{'data':'" + "y".repeat(50_000) + "'}}";

            for (int i = 0; i < 8; i++) {
                connection.notify(TestJson.inbound(big));
            }

            assertThat(loss(bed)).isEqualTo("the server process does not read its input");
            Wait.until("the child is gone", () -> bed.backend.size() == 0);
        }
    }

    @Test
    void aChildThatClosesItsInputIsDead() {
        try (StdioBed bed = new StdioBed(StdioBed.initialized("exec <&-; sleep 100"), StdioBed.HASTY)) {
            BackendConnection connection = bed.opened();

            Wait.until("the closed input is noticed", () -> {
                connection.notify(TestJson.inbound("{'jsonrpc':'2.0','method':'notifications/x'}"));
                return !bed.listening.losses.isEmpty();
            });

            assertThat(loss(bed)).isEqualTo("the server process closed its input");
        }
    }

    private static String loss(StdioBed bed) {
        return loss(bed.listening);
    }

    private static String loss(RecordedListening listening) {
        long start = System.nanoTime();
        String cause = Wait.next(listening.losses);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(AT_ONCE);
        return cause;
    }
}

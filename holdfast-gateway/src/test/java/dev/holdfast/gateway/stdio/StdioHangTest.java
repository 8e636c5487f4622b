package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.Pids;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.TestOptions;
import dev.holdfast.spi.BackendConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("jdk")
@Timeout(60)
class StdioHangTest {
    private static final StdioOptions OPTIONS = TestOptions.pingTimeout(StdioBed.HASTY, Duration.ofSeconds(1));

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void aStoppedChildIsReplacedAfterACallThatTookTooLong() throws IOException, InterruptedException {
        Path pids = folder.resolve("pids");
        String script = "echo \"$$\" > \"$1\"; " + StdioBed.READS;
        try (StdioBed bed = new StdioBed(StdioBed.initialized(script, pids), OPTIONS)) {
            BackendConnection connection = bed.opened();
            Pids child = Pids.readFrom(pids, 1);
            new ProcessBuilder("kill", "-STOP", child.pids().get(0).toString())
                    .start()
                    .waitFor();
            RecordedCall call = new RecordedCall();
            connection.call(TestJson.request(1, "tools/call"), call);

            call.cancel(Optional.empty());

            assertThat(Wait.next(bed.listening.losses)).contains("did not answer a ping within 1s");
            Wait.until("the child is gone", child::ended);
        }
    }

    @Test
    void aChildThatAnswersThePingIsKept() throws IOException {
        try (Puppet child = new Puppet(folder)) {
            RecordedCall call = child.call(1, "tools/call");

            call.cancel(Optional.empty());

            assertThat(child.hears()).contains("notifications/cancelled");
            assertThat(child.hears())
                    .isEqualTo(TestJson.of("{'jsonrpc':'2.0','id':'holdfast-ping-s.1-1','method':'ping'}"));
            child.says("{'jsonrpc':'2.0','id':'holdfast-ping-s.1-1','error':{'code':-32601,'message':'no'}}");
            child.says(TestJson.notification("notifications/message"));
            assertThat(child.listening().next()).contains("notifications/message");
            RecordedCall second = child.call(2, "tools/call");
            second.cancel(Optional.empty());
            child.hears();
            assertThat(child.hears()).contains("holdfast-ping-s.1-2");
            assertThat(child.listening().losses).isEmpty();
        }
    }
}

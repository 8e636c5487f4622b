package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.spi.Backend.Outcome;
import dev.holdfast.spi.Backend.Unreachable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many children that are started at once. */
@Timeout(60)
class StdioOpeningsTest {
    private static final StdioOptions IMPATIENT = StdioBed.HASTY.withStartTimeout(Duration.ofSeconds(6));
    private static final String ANSWERS = "read line; echo '" + TestJson.INITIALIZED_RESULT + "'; " + StdioBed.READS;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private static String refusal(CompletionStage<Outcome> opening) {
        return ((Unreachable) Wait.until(opening)).cause();
    }

    /** Answers as soon as there is a file {@code go}. */
    private ServerCommand whenTold() {
        return StdioBed.script("until [ -e \"$1\" ]; do sleep 0.05; done; " + ANSWERS, folder.resolve("go"));
    }

    @Test
    void noMoreAreUnderWayThanMayBeAndAllOpenThoughTogetherTheyTakeLongerThanTheTimeout() throws IOException {
        Path busy = Files.createDirectory(folder.resolve("busy"));
        Path counts = folder.resolve("counts");
        // each takes 0.4 s of a processor that it shares with the others
        String starts = "mkdir \"$1/$$\"; n=$(ls \"$1\" | wc -l); echo $n >> \"$2\"; "
                + "sleep $((n * 4 / 10)).$((n * 4 % 10)); rmdir \"$1/$$\"; ";
        ServerCommand slow = StdioBed.script(starts + ANSWERS, busy, counts);
        try (StdioBed bed = new StdioBed(slow, IMPATIENT, 3)) {
            long start = System.nanoTime();
            List<CompletionStage<Outcome>> all =
                    Stream.generate(bed::open).limit(24).toList();

            all.forEach(StdioBed::opened);

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(IMPATIENT.startTimeout());
            assertThat(Files.readAllLines(counts))
                    .hasSize(24)
                    .allSatisfy(
                            count -> assertThat(Integer.parseInt(count.strip())).isLessThanOrEqualTo(3));
        }
    }

    @Test
    void oneThatIsGivenUpWhileItWaitsEndsAtOnceAndIsNotStarted() throws IOException {
        try (StdioBed bed = new StdioBed(whenTold(), StdioBed.HASTY, 1)) {
            CompletionStage<Outcome> first = bed.open();
            CompletionStage<Outcome> second = bed.open();
            Wait.until("the first child runs", () -> bed.backend.size() > 0);

            bed.listening.abandon();

            assertThat(refusal(second)).isEqualTo("the client has left");
            assertThat(bed.backend.size()).isOne();
            CompletionStage<Outcome> third = bed.open();

            Files.createFile(folder.resolve("go"));

            StdioBed.opened(first);
            StdioBed.opened(third);
            assertThat(bed.backend.started()).isEqualTo(2);
        }
    }

    @Test
    void oneThatFailsLetsTheNextBegin() {
        try (StdioBed bed = new StdioBed(StdioBed.script("exit 3"), StdioBed.HASTY, 1)) {
            List<CompletionStage<Outcome>> all =
                    Stream.generate(bed::open).limit(3).toList();

            assertThat(all).allSatisfy(opening -> assertThat(refusal(opening)).contains("exited with code 3"));
            assertThat(bed.backend.started()).isEqualTo(3);
        }
    }

    @Test
    void aBackendThatClosesRefusesThoseThatWaitAndStartsNoneOfThem() {
        StdioBed bed = new StdioBed(StdioBed.script(StdioBed.READS), StdioBed.HASTY, 1);
        List<CompletionStage<Outcome>> all = Stream.generate(bed::open).limit(5).toList();
        Wait.until("the first child runs", () -> bed.backend.size() == 1);

        bed.close();

        assertThat(all).allSatisfy(opening -> assertThat(refusal(opening)).isEqualTo("the gateway is shutting down"));
        assertThat(refusal(bed.open())).isEqualTo("the gateway is shutting down");
        assertThat(bed.backend.started()).isOne();
        assertThat(bed.backend.size()).isZero();
    }
}

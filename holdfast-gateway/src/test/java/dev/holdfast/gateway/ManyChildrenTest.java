package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.StringTokenizer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What many idle sessions cost a gateway, and its end. {@code -Dholdfast.children=3000} asks for as many as that. */
@Tag("jdk")
@Timeout(600)
class ManyChildrenTest {
    private static final int CHILDREN = Integer.getInteger("holdfast.children", 50);
    private static final int AT_ONCE = 8;
    /** What a child may have: one for its output, and one of the JDK that waits for its exit code. */
    private static final int THREADS_OF_A_CHILD = 2;

    private static final int OTHER_THREADS = 120;

    /** Ten seconds for 3,000, and as much as a busy machine may need for an end at all. */
    private static final long MOST_MILLIS = 15_000 + 10_000L * CHILDREN / 3_000;

    private static final String SERVER = "read line; echo '" + TestJson.INITIALIZED_RESULT + "'; echo $$ >> \"$1\"; "
            + "while read line; do :; done";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void manyIdleChildrenTakeTwoThreadsEachAndEndInATimeThatGrowsWithTheirNumber()
            throws IOException, InterruptedException {
        Path pids = folder.resolve("pids");
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0"));
        args.addAll(List.of("--max-sessions", "10000", "--max-children", "10000", "--"));
        args.addAll(StdioBed.script(SERVER, pids).words());
        try (GatewayProcess gateway = GatewayProcess.start(folder, args)) {
            URI url = gateway.url();
            open(url, 1);
            long before = gateway.status("VmRSS");
            open(url, CHILDREN - 1);
            List<Long> children = Pids.readFrom(pids, CHILDREN).pids();
            long threads = gateway.status("Threads");
            long memory = (gateway.status("VmRSS") - before) / (CHILDREN - 1);
            assertThat(running(children)).isEqualTo(CHILDREN);

            long start = System.nanoTime();
            gateway.process().destroy();
            int code = gateway.exitCode(300);
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);

            System.out.printf(
                    "%d idle children: %d threads, %d kB per session, ended in %d ms%n",
                    CHILDREN, threads, memory, millis);
            assertThat(code).isZero();
            assertThat(running(children)).isZero();
            assertThat(threads).isLessThanOrEqualTo((long) THREADS_OF_A_CHILD * CHILDREN + OTHER_THREADS);
            assertThat(millis).isLessThan(MOST_MILLIS);
        }
    }

    private static void open(URI url, int count) {
        ExecutorService peers = Executors.newFixedThreadPool(AT_ONCE);
        try {
            List<CompletableFuture<HttpPeer>> opening = Stream.generate(
                            () -> CompletableFuture.supplyAsync(() -> HttpPeer.connected(url), peers))
                    .limit(count)
                    .toList();
            opening.forEach(CompletableFuture::join);
        } finally {
            peers.shutdownNow();
        }
    }

    /** How many groups that these processes led still have a process that runs. */
    private static long running(List<Long> leaders) throws IOException {
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            return processes
                    .map(process -> group(process.resolve("stat")))
                    .filter(leaders::contains)
                    .distinct()
                    .count();
        }
    }

    private static long group(Path stat) {
        try {
            String text = Files.readString(stat);
            StringTokenizer fields = new StringTokenizer(text.substring(text.lastIndexOf(')') + 1));
            boolean ended = fields.nextToken().equals("Z");
            fields.nextToken();
            return ended ? 0 : Long.parseLong(fields.nextToken());
        } catch (IOException e) {
            return 0;
        }
    }
}

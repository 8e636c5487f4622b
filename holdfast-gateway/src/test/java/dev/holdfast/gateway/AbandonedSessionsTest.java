package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients like the Inspector, which open a session, listen, list the tools and are gone without a DELETE.
 * {@code -Dholdfast.abandoned=1000} asks for as many as that.
 */
@Timeout(1200)
class AbandonedSessionsTest {
    private static final int SESSIONS = Integer.getInteger("holdfast.abandoned", 60);
    private static final int CHILDREN = 16;
    /** Clients that are gone at most before the gateway has noticed it of all: for each of them there is a child. */
    private static final int AT_ONCE = CHILDREN / 2;
    /** What a session may keep in the heap, its history and its entry in the store's index included. */
    private static final long SESSION_BYTES = 12 << 10;

    /** What the process may grow by while two thirds of them come, in kB: the code that it compiles, what it keeps of them, their store. */
    private static final long PROCESS_GROWTH = 24 << 10;
    /** As the launcher starts it: the heap is no larger than it must be, so that the memory of the process tells something. */
    private static final List<String> SMALL_HEAP =
            List.of("-XX:+UseSerialGC", "-Xms16m", "-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=25");

    private static final Pattern USED = Pattern.compile("jvm_memory_used_bytes\\{area=\"heap\".*} (\\S+)");

    private static final String SERVER = """
            while read -r line; do
              case $line in
                *'"method":"notifications/'*) ;;
                *'"id":"init"'*) printf '{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-11-25"}}\\n' ;;
                *'"id":1,'*) printf '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\\n' ;;
                *) printf '{"jsonrpc":"2.0","id":2,"result":{"back":true}}\\n' ;;
              esac
            done
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private long mostChildren;

    @Test
    void theyHaveNoMoreChildrenThanMayBeTakeLittleMemoryAndAllAnswerWhenTheirClientsAreBack()
            throws IOException, InterruptedException {
        List<String> args =
                List.of("serve", "--port", "0", "--max-children", "" + CHILDREN, "--", "/bin/sh", "-c", SERVER);
        try (GatewayProcess gateway = GatewayProcess.start(folder, SMALL_HEAP, args)) {
            URI url = gateway.url();
            List<HttpPeer> peers = new ArrayList<>();
            for (int i = 0; i < CHILDREN; i++) {
                peers.add(abandoned(url));
            }
            awaitNoConnection(peers.get(0));
            count(gateway);
            long before = liveHeap(gateway, peers.get(0));
            long resident = 0;
            while (peers.size() < SESSIONS) {
                peers.add(abandoned(url));
                count(gateway);
                if (peers.size() % AT_ONCE == 0) {
                    awaitNoConnection(peers.get(0));
                }
                if (peers.size() == Math.max(SESSIONS / 3, CHILDREN + 1)) {
                    resident = gateway.status("VmRSS");
                }
            }
            awaitNoConnection(peers.get(0));
            long processGrown = gateway.status("VmRSS") - resident;
            long grown = (liveHeap(gateway, peers.get(0)) - before) / (SESSIONS - CHILDREN);

            for (HttpPeer peer : peers) {
                assertThat(peer.call(2, "tools/call")).contains("\"back\":true");
                count(gateway);
            }

            System.out.printf(
                    "%d abandoned sessions: at most %d children, %d bytes of heap each, %d kB more of the process%n",
                    SESSIONS, mostChildren, grown, processGrown);
            assertThat(mostChildren).isBetween(1L, (long) CHILDREN);
            assertThat(grown).isLessThan(SESSION_BYTES);
            assertThat(processGrown).isLessThan(PROCESS_GROWTH);
            assertThat(peers.get(0).get("/healthz").body()).contains("\"sessions\":" + SESSIONS);
            gateway.process().destroy();
        }
    }

    private static HttpPeer abandoned(URI url) {
        HttpPeer peer = HttpPeer.connected(url);
        try (ListeningSocket listening = new ListeningSocket(peer)) {
            assertThat(peer.call(1, "tools/list")).contains("\"tools\"");
        }
        return peer;
    }

    private static void awaitNoConnection(HttpPeer peer) {
        Wait.until(
                "the ends of the connections are noticed",
                () -> peer.get("/stats").body().contains("\"connections\":0"));
    }

    /** What is left of the heap after a collection. */
    private static long liveHeap(GatewayProcess gateway, HttpPeer peer) throws IOException, InterruptedException {
        Process collecting = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                        Long.toString(gateway.process().pid()),
                        "GC.run")
                .redirectErrorStream(true)
                .start();
        collecting.getInputStream().transferTo(OutputStream.nullOutputStream());
        assertThat(collecting.waitFor()).isZero();
        return USED.matcher(peer.get("/metrics").body())
                .results()
                .mapToLong(used -> (long) Double.parseDouble(used.group(1)))
                .sum();
    }

    private void count(GatewayProcess gateway) {
        long running = gateway.process()
                .toHandle()
                .children()
                .filter(child -> Files.exists(Path.of("/proc/" + child.pid() + "/exe")))
                .count();
        mostChildren = Math.max(mostChildren, running);
    }
}

package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients of the revision without sessions that are gone in the middle of their calls: the child is told of each, and nothing of them is
 * left. {@code -Dholdfast.vanished=1000} asks for as many as that, and waits until the last child that they shared has ended too.
 */
@Timeout(300)
class VanishedClientsTest {
    private static final int CLIENTS = Integer.getInteger("holdfast.vanished", 100);
    /** Each of those that can be asked has a child alone. */
    private static final int ASKED = Math.max(2, CLIENTS / 20);
    /** Calls that share a child. */
    private static final int OF_A_CHILD = 32;

    private static final boolean ALL_ENDS = CLIENTS >= 1_000;
    private static final Duration CANCELLED = Duration.ofSeconds(10);
    /** So many children are started at once. */
    private static final Duration START = Duration.ofMinutes(3);
    /** A child that is shared waits a minute for the next call. */
    private static final Duration UNUSED = Duration.ofSeconds(90);

    /** Those that serve requests are kept for the next ones. */
    private static final int SERVER_THREADS = 200 + 60;

    private static final String SERVER = """
            while read -r line; do
              case $line in
                *'"method":"notifications/cancelled"'*) echo cancelled >> "$1" ;;
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}' ;;
                *'"method"'*) echo called >> "$1" ;;
              esac
            done
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Socket> sockets = new ArrayList<>();

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    private int noted(String what) {
        Path notes = folder.resolve("notes");
        try {
            return Files.exists(notes) ? Collections.frequency(Files.readAllLines(notes), what) : 0;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String capabilities(int client) {
        if (client < ASKED) {
            return ModernPeer.ELICITS;
        }
        return client % 2 == 0 ? ModernPeer.NOTHING : ModernPeer.TASKS;
    }

    private void call(URI url, int client) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), url.getPort());
        sockets.add(socket);
        String request = new ModernPeer(url, capabilities(client))
                .raw("tools/call", "wait", "'name':'wait','arguments':{'client':" + client + "}");
        socket.getOutputStream().write(request.getBytes(UTF_8));
    }

    private void vanish() throws IOException {
        int client = 0;
        for (Socket socket : sockets) {
            if (client++ % 2 == 0) {
                socket.setSoLinger(true, 0);
            }
            socket.close();
        }
    }

    private static int count(HttpPeer peer, String what) {
        String stats = peer.get("/stats").body();
        Matcher count = Pattern.compile("\"" + what + "\":(\\d+)").matcher(stats);
        assertThat(count.find()).as(stats).isTrue();
        return Integer.parseInt(count.group(1));
    }

    private static long children(GatewayProcess gateway) {
        return gateway.process()
                .children()
                .filter(child -> Files.exists(Path.of("/proc/" + child.pid() + "/exe")))
                .count();
    }

    @Test
    void theCallOfEachIsCancelledAndNothingOfItIsLeft() throws Exception {
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0"));
        args.addAll(List.of("--task-after", "5m", "--max-children", "200", "--"));
        args.addAll(StdioBed.script(SERVER, folder.resolve("notes")).words());
        try (GatewayProcess gateway = GatewayProcess.start(folder, args)) {
            URI url = gateway.url();
            HttpPeer peer = new HttpPeer(url);
            int threads = (int) gateway.status("Threads");
            for (int client = 0; client < CLIENTS; client++) {
                call(url, client);
            }
            Wait.until("all calls run", START, () -> noted("called") == CLIENTS);
            assertThat(count(peer, "runningCalls")).isEqualTo(CLIENTS);
            int shared = count(peer, "sessions") - ASKED;
            assertThat(shared).isLessThanOrEqualTo(2 * (CLIENTS - ASKED) / OF_A_CHILD + 2);

            long since = System.nanoTime();
            vanish();
            Wait.until("all calls are cancelled", CANCELLED, () -> noted("cancelled") == CLIENTS);
            long millis = (System.nanoTime() - since) / 1_000_000;

            assertThat(noted("called")).isEqualTo(CLIENTS);
            Wait.until("no call runs", () -> count(peer, "runningCalls") == 0);
            Wait.until(
                    "those who could be asked leave nothing",
                    () -> count(peer, "sessions") == shared && children(gateway) == shared);
            System.out.printf(
                    "%d clients vanished, all calls were cancelled after %d ms, of %d children %d are left%n",
                    CLIENTS, millis, ASKED + shared, shared);
            if (ALL_ENDS) {
                Wait.until("no session is left", UNUSED, () -> count(peer, "sessions") == 0);
                Wait.until("no child is left", () -> children(gateway) == 0);
                assertThat(count(peer, "connections")).isZero();
                assertThat(count(peer, "historyEvents")).isZero();
                Wait.until("no thread is left", () -> gateway.status("Threads") <= threads + SERVER_THREADS);
            }
        }
    }
}

package dev.holdfast.benchmarks;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.Latencies;
import dev.holdfast.benchmarks.load.StuckPeer;
import dev.holdfast.benchmarks.load.Target;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A client comes back while the server still writes to its stuck former connection: how long until the new stream's head is
 * there, and until the old socket is gone. Arguments: {@code repetitions}, and one server.
 */
final class TakeoverMain {
    private static final long GIVE_UP_NANOS = TimeUnit.SECONDS.toNanos(3);

    private TakeoverMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int repetitions = options.number("repetitions", 20);
        for (boolean resuming : new boolean[] {true, false}) {
            takeOver(target, resuming, new Latencies(), new Latencies());
            Latencies head = new Latencies();
            Latencies gone = new Latencies();
            long stuck = 0;
            for (int i = 0; i < repetitions; i++) {
                stuck += takeOver(target, resuming, head, gone);
            }
            String how = resuming ? "with Last-Event-ID   " : "without Last-Event-ID";
            System.out.printf("%s head of the new stream   %s%n", how, head.line());
            System.out.printf("%s old socket gone after   %s%n", how, gone.line());
            System.out.printf(
                    Locale.ROOT,
                    "%s n %d, bytes stuck in the kernel on average %d%n",
                    how,
                    repetitions,
                    stuck / repetitions);
        }
    }

    private static long takeOver(Target target, boolean resuming, Latencies head, Latencies gone)
            throws IOException, InterruptedException {
        String session = target.open();
        try (StuckPeer peer = new StuckPeer(target, session)) {
            long stuck = peer.fill();
            Optional<String> lastEventId = resuming ? Optional.of(peer.lastEventId()) : Optional.empty();
            long start = System.nanoTime();
            try (Socket fresh = get(target, session, lastEventId)) {
                readHead(fresh.getInputStream());
                head.add(System.nanoTime() - start);
                while (peer.serverSocket().isPresent()) {
                    if (System.nanoTime() - start > GIVE_UP_NANOS) {
                        System.out.println("the old socket is still there after 3 s");
                        break;
                    }
                    Thread.sleep(1);
                }
                gone.add(System.nanoTime() - start);
                target.delete(session);
            }
            return stuck;
        }
    }

    private static Socket get(Target target, String session, Optional<String> lastEventId) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), target.port());
        socket.setSoTimeout((int) TimeUnit.NANOSECONDS.toMillis(GIVE_UP_NANOS));
        String request = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:" + target.port() + "\r\nAccept: text/event-stream\r\n"
                + "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: " + Target.REVISION + "\r\n"
                + lastEventId.map(id -> "Last-Event-ID: " + id + "\r\n").orElse("") + "\r\n";
        socket.getOutputStream().write(request.getBytes(US_ASCII));
        return socket;
    }

    private static void readHead(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int b = in.read();
            if (b < 0) {
                throw new IOException("no response head: " + head);
            }
            head.append((char) b);
        }
        if (!head.toString().startsWith("HTTP/1.1 200")) {
            throw new IOException("the new GET was answered " + head);
        }
    }
}

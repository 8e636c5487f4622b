package dev.holdfast.it;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** A server of the TypeScript SDK in a process of its own, from what the interop tests have installed. */
final class NodeServer implements AutoCloseable {
    private static final Path INTEROP = Path.of("interop").toAbsolutePath();
    private static final Duration START = Duration.ofSeconds(30);

    private final Process process;
    private final Path log;
    private final int port;

    private NodeServer(Process process, Path log, int port) {
        this.process = process;
        this.log = log;
        this.port = port;
    }

    /** Starts the reference server, in the release that the SDK's own tests are written for. */
    static NodeServer everything() throws IOException, InterruptedException {
        return start("node_modules/server-everything-2025.12.18/dist/index.js", "streamableHttp");
    }

    /** Starts the reference server of today, whose event store replays the events of all streams to each that is resumed. */
    static NodeServer replayingEverything() throws IOException, InterruptedException {
        return start("node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp");
    }

    /** Starts a small server with the event store of the SDK's examples, whose ids are numbered; it logs each call of its tool {@code slow}. */
    static NodeServer withEvents() throws IOException, InterruptedException {
        return start("plain-server.mjs", "events");
    }

    private static NodeServer start(String script, String word) throws IOException, InterruptedException {
        int port = freePort();
        Path log = Files.createTempFile("node-server", ".log");
        String node = INTEROP.resolve("node_modules/.bin/node").toString();
        ProcessBuilder builder = new ProcessBuilder(
                        node, INTEROP.resolve(script).toString(), word)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        builder.environment().put("PORT", Integer.toString(port));
        NodeServer server = new NodeServer(builder.start(), log, port);
        try {
            await().atMost(START).until(() -> server.accepts() || !server.process.isAlive());
            if (!server.process.isAlive()) {
                throw new IllegalStateException(script + " has ended: " + String.join("\n", server.log()));
            }
            return server;
        } catch (Throwable e) {
            server.close();
            throw e;
        }
    }

    /** One below those that the kernel gives to clients: none of them takes it before the server does. */
    private static int freePort() {
        for (; ; ) {
            int port = ThreadLocalRandom.current().nextInt(10_000, 20_000);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException e) {
                // somebody has it
            }
        }
    }

    private boolean accepts() {
        try (Socket probe = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return probe.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    int port() {
        return port;
    }

    /** What it has said so far. */
    List<String> log() throws IOException {
        return Files.readAllLines(log);
    }

    @Override
    public void close() throws IOException, InterruptedException {
        process.destroyForcibly().waitFor(START.toSeconds(), TimeUnit.SECONDS);
        Files.delete(log);
    }
}

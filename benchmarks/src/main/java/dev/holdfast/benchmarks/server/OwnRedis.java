package dev.holdfast.benchmarks.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A Redis of its own for a server, with the append-only file that a cluster needs; it ends with the process. */
final class OwnRedis {
    private OwnRedis() {}

    /**
     * Starts {@code redis-server} of the search path; returns at once.
     *
     * @param folder where it keeps its file
     * @return its address
     */
    static String start(Path folder) {
        try {
            int port = freePort();
            List<String> command = List.of(
                    "redis-server",
                    "--port",
                    Integer.toString(port),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "yes",
                    "--dir",
                    Files.createDirectories(folder).toString());
            Process redis = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("redis.log").toFile())
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(redis::destroy));
            return "redis://127.0.0.1:" + port;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}

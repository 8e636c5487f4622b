package dev.holdfast.benchmarks.server;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Redis of its own for a measurement, with the append-only file that a cluster needs; it ends with the process. */
public final class OwnRedis implements AutoCloseable {
    private static final long STOP_SECONDS = 10;

    private final Process process;
    private final int port;

    private OwnRedis(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /**
     * Starts {@code redis-server} of the search path; returns at once.
     *
     * @param folder where it keeps its file
     */
    public static OwnRedis start(Path folder) throws IOException {
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
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("redis.log").toFile())
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
        return new OwnRedis(process, port);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    public String url() {
        return "redis://127.0.0.1:" + port;
    }

    public ProcessHandle process() {
        return process.toHandle();
    }

    /** A number of what {@code INFO} tells. */
    public long info(String name) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                BufferedReader lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII))) {
            socket.getOutputStream().write("INFO\r\nQUIT\r\n".getBytes(US_ASCII));
            return lines.lines()
                    .filter(line -> line.startsWith(name + ":"))
                    .mapToLong(line -> Long.parseLong(line.substring(name.length() + 1)))
                    .findFirst()
                    .orElseThrow(() -> new IOException("Redis does not tell " + name));
        }
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}

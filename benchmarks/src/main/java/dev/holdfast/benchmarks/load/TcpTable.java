package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What the kernel knows of the TCP sockets of this machine (Linux). */
final class TcpTable {
    private static final List<Path> FILES = List.of(Path.of("/proc/net/tcp"), Path.of("/proc/net/tcp6"));
    private static final int HEX = 16;

    private TcpTable() {}

    /**
     * One socket.
     *
     * @param unsent bytes that wait in its send buffer
     * @param unread bytes that wait in its receive buffer
     */
    record Socket(long unsent, long unread) {}

    /** The socket with these ports; none once the kernel has let go of it. */
    static Optional<Socket> find(int localPort, int remotePort) throws IOException {
        for (Path file : FILES) {
            for (String line : Files.readAllLines(file)) {
                String[] columns = line.trim().split("\\s+", -1);
                if (port(columns[1]) == localPort && port(columns[2]) == remotePort) {
                    String[] queues = columns[4].split(":", -1);
                    return Optional.of(new Socket(Long.parseLong(queues[0], HEX), Long.parseLong(queues[1], HEX)));
                }
            }
        }
        return Optional.empty();
    }

    private static int port(String address) {
        int colon = address.lastIndexOf(':');
        return colon < 0 || address.startsWith("local") || address.startsWith("rem")
                ? -1
                : Integer.parseInt(address.substring(colon + 1), HEX);
    }
}

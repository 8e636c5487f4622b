package dev.holdfast.gateway;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The sockets of this machine, as {@code /proc/net} shows them. */
public final class Sockets {
    private Sockets() {}

    /** The bytes that the kernel holds for the peer of a socket; below zero if it knows no such socket, not even one that ends. */
    public static long heldBack(int localPort, int remotePort) {
        Pattern socket = Pattern.compile(String.format(
                Locale.ROOT, ".*:%04X [0-9A-F]+:%04X [0-9A-F]{2} ([0-9A-F]{8}):.*", localPort, remotePort));
        try {
            for (String table : List.of("tcp", "tcp6")) {
                for (String line : Files.readAllLines(Path.of("/proc/net", table))) {
                    Matcher matcher = socket.matcher(line);
                    if (matcher.matches()) {
                        return Long.parseLong(matcher.group(1), 16);
                    }
                }
            }
            return -1;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}

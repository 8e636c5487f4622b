package dev.holdfast.gateway;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The sockets of this machine, as {@code /proc/net} shows them. */
public final class Sockets {
    private Sockets() {}

    /** The bytes that the kernel holds for the peer of a socket; below zero if it knows no such socket, not even one that ends. */
    public static long heldBack(int localPort, int remotePort) {
        return like(String.format(
                        Locale.ROOT, ".*:%04X [0-9A-F]+:%04X [0-9A-F]{2} ([0-9A-F]{8}):.*", localPort, remotePort))
                .map(socket -> Long.parseLong(socket.group(1), 16))
                .findFirst()
                .orElse(-1L);
    }

    /** Whether somebody has not closed a connection to a port yet, though it may be closed there. */
    public static boolean openTo(int remotePort) {
        return like(String.format(Locale.ROOT, ".*:[0-9A-F]{4} [0-9A-F]+:%04X 0[18] .*", remotePort))
                .findAny()
                .isPresent();
    }

    private static Stream<MatchResult> like(String pattern) {
        Pattern socket = Pattern.compile(pattern);
        return Stream.of("tcp", "tcp6")
                .flatMap(table -> {
                    try {
                        return Files.readAllLines(Path.of("/proc/net", table)).stream();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .map(socket::matcher)
                .filter(Matcher::matches)
                .map(Matcher::toMatchResult);
    }
}

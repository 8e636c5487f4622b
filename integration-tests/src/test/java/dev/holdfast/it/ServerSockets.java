package dev.holdfast.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/** The sockets a server holds, as the kernel tells; none where it does not tell (anywhere but on Linux). */
final class ServerSockets {
    /** Listening, and TIME_WAIT, which the kernel alone remembers. */
    private static final Set<String> NOBODYS = Set.of("0A", "06");

    private ServerSockets() {}

    static List<String> of(int port) {
        String local = String.format(Locale.ROOT, ":%04X", port);
        return Stream.of("/proc/net/tcp", "/proc/net/tcp6")
                .map(Path::of)
                .filter(Files::exists)
                .flatMap(ServerSockets::lines)
                .map(line -> line.strip().split("\\s+"))
                .filter(fields -> fields.length > 9
                        && fields[1].endsWith(local)
                        && !NOBODYS.contains(fields[3])
                        && !fields[9].equals("0"))
                .map(fields -> fields[1] + " " + fields[2] + " in state " + fields[3])
                .toList();
    }

    private static Stream<String> lines(Path file) {
        try {
            return Files.readAllLines(file).stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

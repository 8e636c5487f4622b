package dev.holdfast.gateway.http;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warns of a private file or folder that others on this machine can read or change. */
public final class OpenToOthers {
    private static final Logger log = LoggerFactory.getLogger(OpenToOthers.class);
    private static final String USER = "unix:uid";
    /** Belongs to the user that this process runs as. */
    private static final Path SELF = Path.of("/proc/self");

    private static final int ROOT = 0;
    private static final int STICKY = 01000;
    private static final int GROUP_WRITES = 0020;
    private static final int OTHERS_READ = 0004;
    private static final int OTHERS_WRITE = 0002;
    private static final int PERMISSIONS = 07777;

    private OpenToOthers() {}

    /** Logs a warning if others can read or change the path, or replace it through the folder that it is in. */
    public static void complain(Path path) {
        mode(path).flatMap(mode -> fault(path, mode)).ifPresent(log::warn);
        number(SELF, USER).ifPresent(user -> complainOfOwner(path, user));
        real(path)
                .map(Path::getParent)
                .ifPresent(folder -> mode(folder)
                        .filter(mode -> (mode & STICKY) == 0 && (mode & (GROUP_WRITES | OTHERS_WRITE)) != 0)
                        .ifPresent(mode -> log.warn(
                                "{}, the folder of {}, has mode {}: {} can put something else in its place (chmod go-w)",
                                folder,
                                path,
                                octal(mode),
                                who(mode))));
    }

    /** Logs a warning if the path belongs to another user than this one and root. */
    static void complainOfOwner(Path path, int user) {
        number(path, USER)
                .filter(owner -> owner != user && owner != ROOT)
                .ifPresent(owner -> log.warn(
                        "{} belongs to the user {}, who can read and change it; this process runs as {}",
                        path,
                        Integer.toUnsignedString(owner),
                        Integer.toUnsignedString(user)));
    }

    private static Optional<String> fault(Path path, int mode) {
        List<String> faults = new ArrayList<>();
        List<String> remedy = new ArrayList<>();
        if ((mode & (GROUP_WRITES | OTHERS_WRITE)) != 0) {
            faults.add(who(mode) + " can change it");
            remedy.add("go-w");
        }
        if ((mode & OTHERS_READ) != 0) {
            faults.add("everybody on this machine can read it");
            remedy.add("o-r");
        }
        return faults.isEmpty()
                ? Optional.empty()
                : Optional.of(path + " has mode " + octal(mode) + ": " + String.join(", ", faults)
                        + "; take that right away (chmod " + String.join(",", remedy) + ")");
    }

    private static String who(int mode) {
        return (mode & OTHERS_WRITE) != 0 ? "everybody on this machine" : "its group";
    }

    private static String octal(int mode) {
        return String.format(Locale.ROOT, "%04o", mode);
    }

    private static Optional<Integer> mode(Path path) {
        return number(path, "unix:mode").map(mode -> mode & PERMISSIONS);
    }

    /** What the file system says of a path; empty where it does not know that. */
    private static Optional<Integer> number(Path path, String attribute) {
        try {
            return Optional.of((Integer) Files.getAttribute(path, attribute));
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
            log.debug("{}: who may use it is not known: {}", path, e.toString());
            return Optional.empty();
        }
    }

    private static Optional<Path> real(Path path) {
        try {
            return Optional.of(path.toRealPath());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}

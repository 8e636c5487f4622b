package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A disk that one process has for itself, and that fills up when it is told to. Where mounting is not allowed, that process may
 * let no file grow instead: its writes fail just the same.
 */
final class SmallDisk {
    private static final String MOUNTED = "mount -t tmpfs -o $0 tmpfs \"$1\" || exit 70; shift; exec \"$@\"";
    private static final byte[] BLOCK = new byte[4096];

    private final Path folder;
    private final String options;
    private final Optional<List<String>> mounting;

    /** A disk at this empty folder. */
    SmallDisk(Path folder) throws IOException, InterruptedException {
        this(folder, "size=48m");
    }

    /** One that is mounted with these options. */
    SmallDisk(Path folder, String options) throws IOException, InterruptedException {
        this.folder = folder;
        this.options = options;
        this.mounting = mounting(folder, options);
    }

    /** Whether it is one at all. */
    boolean mounted() {
        return mounting.isPresent();
    }

    private static Optional<List<String>> mounting(Path folder, String options)
            throws IOException, InterruptedException {
        for (List<String> apart : List.of(List.of("unshare", "-m"), List.of("unshare", "-r", "-m"))) {
            List<String> probe = new ArrayList<>(apart);
            probe.addAll(List.of("sh", "-c", MOUNTED, options, folder.toString(), "true"));
            if (run(probe).isEmpty()) {
                return Optional.of(apart);
            }
        }
        return Optional.empty();
    }

    /** The command that runs this command with the disk. */
    List<String> under(List<String> command) {
        List<String> words = new ArrayList<>();
        mounting.ifPresent(apart -> {
            words.addAll(apart);
            words.addAll(List.of("sh", "-c", MOUNTED, options, folder.toString()));
        });
        words.addAll(command);
        return words;
    }

    /** Takes all the room that is left. */
    void fill(Process process) throws IOException, InterruptedException {
        if (mounting.isEmpty()) {
            limit(process, "1");
            return;
        }
        try (OutputStream ballast =
                Files.newOutputStream(ballast(process), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            while (true) {
                ballast.write(BLOCK);
            }
        } catch (IOException full) {
            // as was wanted
        }
    }

    /** Gives the room back. */
    void empty(Process process) throws IOException, InterruptedException {
        if (mounting.isEmpty()) {
            limit(process, "unlimited");
        } else {
            Files.delete(ballast(process));
        }
    }

    /** Nobody else sees what is mounted, but through the eyes of that process. */
    private Path ballast(Process process) {
        return Path.of("/proc/" + process.pid() + "/root" + folder, "ballast");
    }

    private static void limit(Process process, String bytes) throws IOException, InterruptedException {
        String trouble = run(List.of("prlimit", "--pid", "" + process.pid(), "--fsize=" + bytes + ":"));
        if (!trouble.isEmpty()) {
            throw new IOException(trouble);
        }
    }

    /** What went wrong, or nothing. */
    private static String run(List<String> command) throws InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), UTF_8);
            int code = process.waitFor();
            return code == 0 ? "" : command.get(0) + " exits with " + code + ": " + said;
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }
}

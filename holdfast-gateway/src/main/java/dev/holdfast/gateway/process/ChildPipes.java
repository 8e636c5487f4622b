package dev.holdfast.gateway.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The pipes to a child. A helper of the child that has left its process group may keep them open for as long as it lives. Closing our end
 * does not wake a thread that waits for a pipe in the kernel; only bytes do.
 *
 * @param names the kernel's names of its standard input, output and error output, where {@code /proc} shows them
 */
record ChildPipes(List<Optional<String>> names) {
    private static final Path PROC = Path.of("/proc");
    private static final String NUMBERS = "[0-9]*";

    /** Those of a child that was started just now. */
    static ChildPipes of(long pid) {
        return new ChildPipes(Stream.of("0", "1", "2")
                .map(number -> pipe(PROC.resolve(pid + "/fd/" + number)))
                .toList());
    }

    private static Optional<String> pipe(Path file) {
        try {
            return Optional.of(Files.readSymbolicLink(file).toString()).filter(name -> name.startsWith("pipe:"));
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.empty();
        }
    }

    /** Wakes whoever in this process waits for one of them: its reader by a line end, its writer by taking what it writes. May block. */
    void wake() {
        each(PROC.resolve("self/fd"), NUMBERS, file -> {
            Optional<String> name = pipe(file);
            int index = name.isPresent() ? names.indexOf(name) : -1;
            try {
                if (index > 0) {
                    try (FileChannel pipe = FileChannel.open(file, StandardOpenOption.WRITE)) {
                        if (pipe(file).equals(name)) {
                            pipe.write(ByteBuffer.wrap(new byte[] {'\n'}));
                        }
                    }
                } else if (index == 0) {
                    try (InputStream pipe = Files.newInputStream(file)) {
                        if (pipe(file).equals(name)) {
                            pipe.transferTo(OutputStream.nullOutputStream());
                        }
                    }
                }
            } catch (IOException e) {
                // closed meanwhile: nobody waits for it
            }
        });
    }

    /** The other processes that have one of them open as their standard input, output or error output. */
    Set<Long> holders() {
        Set<String> mine = names.stream().flatMap(Optional::stream).collect(Collectors.toSet());
        Set<Long> holders = new TreeSet<>();
        each(PROC, NUMBERS, process -> {
            long pid = Long.parseLong(process.getFileName().toString());
            if (pid != ProcessHandle.current().pid()
                    && of(pid).names.stream().flatMap(Optional::stream).anyMatch(mine::contains)) {
                holders.add(pid);
            }
        });
        return holders;
    }

    private static void each(Path folder, String pattern, Consumer<Path> task) {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, pattern)) {
            entries.forEach(task);
        } catch (IOException | DirectoryIteratorException e) {
            // what cannot be seen cannot be told
        }
    }
}

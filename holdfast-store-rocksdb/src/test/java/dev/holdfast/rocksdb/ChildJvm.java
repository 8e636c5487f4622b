package dev.holdfast.rocksdb;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A JVM of its own, with the classes of this one. */
final class ChildJvm {
    private ChildJvm() {}

    static Process start(Class<?> main, String... arguments) throws IOException {
        return new ProcessBuilder(command(main, arguments))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    static List<String> command(Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "-Xmx128m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }
}

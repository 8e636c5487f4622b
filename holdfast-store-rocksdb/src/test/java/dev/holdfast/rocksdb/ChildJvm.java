package dev.holdfast.rocksdb;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** A JVM of its own, with the classes of this one. It is killed when a test has waited long enough for it. */
final class ChildJvm {
    private static final long LIFE_SECONDS = 120;
    private static final List<String> QUICK = Pattern.compile(" ")
            .splitAsStream(System.getProperty("test.jvm.quick", ""))
            .filter(option -> !option.isEmpty())
            .toList();

    private ChildJvm() {}

    static Process start(Class<?> main, String... arguments) throws IOException {
        return start(new ProcessBuilder(command(main, arguments)));
    }

    /** Nothing interrupts a read of what a process says: this ends it. Its error output becomes that of the test. */
    static Process start(ProcessBuilder builder) throws IOException {
        Process child = builder.start();
        Thread errors = new Thread(() -> passOn(child.getErrorStream()), "errors of " + child.pid());
        errors.setDaemon(true);
        errors.start();
        CompletableFuture.delayedExecutor(LIFE_SECONDS, TimeUnit.SECONDS).execute(child::destroyForcibly);
        return child;
    }

    private static void passOn(InputStream errors) {
        try (errors) {
            errors.transferTo(System.err);
        } catch (IOException e) {
            // the child is gone
        }
    }

    static List<String> command(Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "-Xmx128m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(1, QUICK);
        command.addAll(List.of(arguments));
        return command;
    }
}

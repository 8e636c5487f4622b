package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A gateway as a process of its own, as people run it. Closing it kills it. */
record GatewayProcess(Process process) implements AutoCloseable {
    /**
     * Starts it.
     *
     * @param folder where it runs
     * @param args the words of its command line
     */
    static GatewayProcess start(Path folder, List<String> args) throws IOException {
        return start(folder, List.of(), args);
    }

    /**
     * The same with properties.
     *
     * @param properties options of its JVM
     */
    static GatewayProcess start(Path folder, List<String> properties, List<String> args) throws IOException {
        return new GatewayProcess(started(builder(folder, properties, args)));
    }

    /** Starts a process whose error output becomes that of the test. */
    static Process started(ProcessBuilder builder) throws IOException {
        Process process = builder.start();
        Thread errors = new Thread(() -> passOn(process.getErrorStream()), "errors of " + process.pid());
        errors.setDaemon(true);
        errors.start();
        return process;
    }

    private static void passOn(InputStream errors) {
        try (errors) {
            errors.transferTo(System.err);
        } catch (IOException e) {
            // the process is gone
        }
    }

    /** What starts it, with pipes on all sides. */
    static ProcessBuilder builder(Path folder, List<String> properties, List<String> args) {
        // A build that runs in the background ignores SIGINT, and so would its children, had they no word to the
        // contrary.
        List<String> words = new ArrayList<>(List.of("env", "--default-signal=INT"));
        words.addAll(ClassData.gateway(properties, args));
        return new ProcessBuilder(words).directory(folder.toFile());
    }

    /** Reads from its first line where it listens. */
    URI url() {
        String line = Wait.listening(process);
        assertThat(line).matches("holdfast \\S+ listens on https?://127\\.0\\.0\\.1:\\d+/mcp");
        return URI.create(line.substring(line.indexOf("http")));
    }

    /** Waits for its end. */
    int exitCode(long seconds) throws InterruptedException {
        assertThat(process.waitFor(seconds, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
    }

    /** A number that the kernel tells of it, such as {@code VmRSS} in kB or {@code Threads}. */
    long status(String field) {
        try (var lines = Files.lines(Path.of("/proc/" + process.pid() + "/status"))) {
            return lines.filter(line -> line.startsWith(field + ":"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        Wait.untilKilled(process);
    }
}

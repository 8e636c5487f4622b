package dev.holdfast.it;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A program on the class path of the tests that serves HTTP in a process of its own. Closing it kills it. */
final class JavaProcess implements AutoCloseable {
    private static final Pattern PORT = Pattern.compile("127\\.0\\.0\\.1:(\\d+)");

    private final Process process;
    private final int port;

    private JavaProcess(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /** Starts it, and reads from its first line where it serves. */
    static JavaProcess start(String main, String... args) throws IOException {
        return start(List.of(), main, args);
    }

    /** The same with options for its JVM. */
    static JavaProcess start(List<String> options, String main, String... args) throws IOException {
        List<String> words = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        words.addAll(options);
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
        words.addAll(List.of(args));
        Process process = new ProcessBuilder(words)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            String line = FirstLine.of(process);
            Matcher named = PORT.matcher(line);
            if (!named.find()) {
                throw new IllegalStateException(main + " says: " + line);
            }
            return new JavaProcess(process, Integer.parseInt(named.group(1)));
        } catch (IOException | RuntimeException e) {
            process.destroyForcibly();
            throw e;
        }
    }

    int port() {
        return port;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** By SIGKILL; returns when it is gone. */
    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}

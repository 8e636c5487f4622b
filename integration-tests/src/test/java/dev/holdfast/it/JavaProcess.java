package dev.holdfast.it;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A program on the class path of the tests that serves HTTP in a process of its own. Closing it kills it. */
final class JavaProcess implements AutoCloseable {
    private static final Pattern PORT = Pattern.compile("127\\.0\\.0\\.1:(\\d+)");

    private static final List<String> QUICK = Pattern.compile(" ")
            .splitAsStream(System.getProperty("test.jvm.quick", ""))
            .filter(option -> !option.isEmpty())
            .toList();

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
        List<String> words = new ArrayList<>(options);
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
        words.addAll(List.of(args));
        Process process = launch(words);
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

    /** Starts a JVM whose error output becomes that of the test. */
    static Process launch(List<String> words) throws IOException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(QUICK);
        command.addAll(words);
        Process process = new ProcessBuilder(command).start();
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

    int port() {
        return port;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** By SIGKILL; returns when it is gone. */
    @Override
    public void close() {
        try {
            // onExit of one that has ended may wait for another which has got its number
            process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            throw new AssertionError("did not end", e);
        }
    }
}

package dev.holdfast.gateway.stdio;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.spi.Backend.Outcome;
import dev.holdfast.spi.BackendConnection;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;

/** A child process whose strings the test holds: it says what the test says, and the test hears what it hears. */
final class Puppet implements AutoCloseable {
    private final StdioBed bed;
    private final BackendConnection connection;
    private final OutputStream says;
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    /** Starts the child as the server of a new session, and answers {@code initialize}. */
    Puppet(Path folder) throws IOException {
        this(folder, StdioBed.HASTY);
    }

    Puppet(Path folder, StdioOptions options) throws IOException {
        Path ear = pipe(folder, "hears");
        Path mouth = pipe(folder, "says");
        bed = new StdioBed(StdioBed.script("cat \"$1\" & exec cat > \"$2\"", mouth, ear), options);
        CompletionStage<Outcome> opening = bed.open();
        BufferedReader hears = Files.newBufferedReader(ear);
        says = Files.newOutputStream(mouth);
        Thread listener = new Thread(() -> hears.lines().forEach(heard::add), "puppet");
        listener.setDaemon(true);
        listener.start();
        hears();
        says(TestJson.INITIALIZED_RESULT);
        connection = StdioBed.opened(opening);
    }

    private static Path pipe(Path folder, String name) throws IOException {
        Path path = folder.resolve(name);
        try {
            new ProcessBuilder("mkfifo", path.toString()).start().waitFor();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return path;
    }

    BackendConnection connection() {
        return connection;
    }

    RecordedListening listening() {
        return bed.listening;
    }

    /** Starts a call. */
    RecordedCall call(String request) {
        RecordedCall call = new RecordedCall();
        connection.call(TestJson.inbound(request), call);
        hears();
        return call;
    }

    RecordedCall call(int id, String method) {
        return call("{'jsonrpc':'2.0','id':" + id + ",'method':'" + method + "'}");
    }

    /** Lets the child write a line. */
    void says(String line) {
        says(line, UTF_8);
    }

    /** The child writes a line in another encoding. */
    void says(String line, Charset encoding) {
        try {
            says.write((TestJson.of(line) + "\n").getBytes(encoding));
            says.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The next line that the child got. */
    String hears() {
        return Wait.next(heard);
    }

    /** Ends the child's output; the child itself lives on. */
    void fallsSilent() throws IOException {
        says.close();
    }

    @Override
    public void close() throws IOException {
        bed.close();
        says.close();
    }
}

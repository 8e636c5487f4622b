package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.rocksdb.RocksDbStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A server of the SDK on Holdfast with a store on disk, in a process of its own that can be killed. Closing it kills it. */
record DurableServer(Process process, int port) implements AutoCloseable {
    /** The store's folder, and the file with the names of the calls that were executed. */
    public static void main(String[] arguments) throws Exception {
        Path notes = Path.of(arguments[1]);
        TestServer server = on(RocksDbStore.builder(Path.of(arguments[0])).open(), name -> note(notes, name))
                .start();
        System.out.println(server.port());
    }

    /** The same in this process. */
    static TestServer.Builder on(RocksDbStore store, Consumer<String> executed) {
        CountingTools tools = new CountingTools(executed);
        return TestServer.in(ContainerKind.JETTY)
                .options(options -> options.heartbeatInterval(Duration.ofSeconds(1))
                        .retryInterval(Duration.ofMillis(50))
                        .store(store))
                .tool(tools.count())
                .tool(tools.read());
    }

    private static void note(Path notes, String name) {
        try {
            Files.writeString(notes, name + "\n", UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts it on a folder; it writes the name of each call that it executes into a file. */
    static DurableServer start(Path folder, Path notes) throws IOException {
        Process process = JavaProcess.launch(List.of(
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                DurableServer.class.getName(),
                folder.toString(),
                notes.toString()));
        try {
            return new DurableServer(process, Integer.parseInt(FirstLine.of(process)));
        } catch (IOException | NumberFormatException e) {
            process.destroyForcibly();
            throw e;
        }
    }

    @Override
    public void close() throws InterruptedException, IOException {
        if (!process.destroyForcibly().waitFor(30, TimeUnit.SECONDS)) {
            throw new IOException("the server does not end");
        }
    }
}

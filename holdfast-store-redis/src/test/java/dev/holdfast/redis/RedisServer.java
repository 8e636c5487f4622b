package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.fail;

import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A Redis server on loopback, a process of its own in a folder of its own. Which program it is says the property {@code
 * holdfast.redis-server}; without it, one that comes as a Maven artifact.
 */
public final class RedisServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final Path folder;
    private final List<String> command;
    private final int port;
    private Process process;

    private RedisServer(Path folder, int port, List<String> command) throws IOException {
        this.folder = folder;
        this.port = port;
        this.command = command;
        this.process = launch(folder, command);
    }

    /** Starts one that keeps nothing on disk, unless the settings say otherwise. */
    public static RedisServer start(String... settings) {
        return start(FreePort.next(), Arrays.asList(settings));
    }

    static RedisServer start(int port, List<String> settings) {
        try {
            Path folder = Files.createTempDirectory("holdfast-redis");
            List<String> command = new ArrayList<>(List.of(program().toString(), "--port", Integer.toString(port)));
            command.addAll(List.of("--bind", "127.0.0.1", "--dir", folder.toString(), "--save", ""));
            command.addAll(settings);
            return new RedisServer(folder, port, command).started();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a sentinel that watches a master; with these lines in its configuration too. */
    public static RedisServer startSentinel(RedisServer master, String... lines) {
        try {
            Path folder = Files.createTempDirectory("holdfast-redis");
            int port = FreePort.next();
            List<String> configuration = new ArrayList<>(List.of(
                    "port " + port,
                    "bind 127.0.0.1",
                    "dir " + folder,
                    "sentinel monitor main 127.0.0.1 " + master.port() + " 1",
                    "sentinel down-after-milliseconds main 5000",
                    "sentinel failover-timeout main 3000"));
            configuration.addAll(Arrays.asList(lines));
            Path file = Files.write(folder.resolve("sentinel.conf"), configuration);
            List<String> command = List.of(program().toString(), file.toString(), "--sentinel");
            return new RedisServer(folder, port, command).started();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts one that speaks TLS only, and asks clients for no certificate. */
    static RedisServer startTls(Certificate certificate) {
        return startTls(certificate, "no");
    }

    /** Starts one that speaks TLS only, with clients that show this certificate. */
    public static RedisServer startMutualTls(Certificate certificate) {
        return startTls(certificate, "yes");
    }

    private static RedisServer startTls(Certificate certificate, String asksClients) {
        int port = FreePort.next();
        return start(
                port,
                List.of(
                        "--port",
                        "0",
                        "--tls-port",
                        Integer.toString(port),
                        "--tls-auth-clients",
                        asksClients,
                        "--tls-cert-file",
                        certificate.pem().toString(),
                        "--tls-key-file",
                        certificate.key().toString(),
                        "--tls-ca-cert-file",
                        certificate.pem().toString()));
    }

    /** One whose neighbour 10,000 further is free too: nodes of a cluster speak to each other there. */
    static int freeClusterPort() {
        int port;
        do {
            port = FreePort.next();
        } while (!FreePort.isFree(port + 10_000));
        return port;
    }

    private static Process launch(Path folder, List<String> command) throws IOException {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(
                        ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
                .start();
    }

    /** The program; unpacked once for each version of the artifact. */
    private static synchronized Path program() throws IOException {
        String given = System.getProperty("holdfast.redis-server", "");
        if (!given.isEmpty()) {
            return Path.of(given);
        }
        boolean arm = System.getProperty("os.arch").equals("aarch64");
        boolean mac = System.getProperty("os.name").startsWith("Mac");
        String name = mac
                ? "redis-server-6.2.6-v5-darwin-" + (arm ? "arm64" : "amd64")
                : arm ? "redis-server-6.2.7-linux-arm64" : "redis-server-6.2.6-v5-linux-amd64";
        Path program = Path.of("target", name);
        if (!Files.exists(program)) {
            Path fresh = Files.createTempFile(Path.of("target"), name, "");
            try (InputStream in = RedisServer.class.getResourceAsStream("/" + name)) {
                if (in == null) {
                    throw new IllegalStateException("no Redis for this machine: give one by holdfast.redis-server");
                }
                Files.write(fresh, in.readAllBytes());
            }
            if (!fresh.toFile().setExecutable(true)) {
                throw new IllegalStateException("cannot make " + fresh + " executable");
            }
            // another test JVM may do the same
            Files.move(fresh, program, StandardCopyOption.ATOMIC_MOVE);
        }
        return program.toAbsolutePath();
    }

    /** Returns it when it listens; of one that does not nothing is left. */
    private RedisServer started() {
        try {
            awaitPort();
            return this;
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    /** Waits until this process says that it listens: another one's Redis may have the port. */
    private void awaitPort() {
        Pattern listens = Pattern.compile(
                "^" + process.pid() + ":.*(Ready to accept connections|Sentinel ID is)", Pattern.MULTILINE);
        Given.until("the server listens on " + port, () -> {
            if (!process.isAlive()) {
                fail("Redis did not start: " + log());
            }
            return listens.matcher(log()).find();
        });
    }

    private String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    public int port() {
        return port;
    }

    Path folder() {
        return folder;
    }

    public String url() {
        return "redis://127.0.0.1:" + port;
    }

    /** Kills it as a power cut does; the folder stays. */
    public void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** Starts it again on its folder and its port. */
    public void startAgain() {
        try {
            process = launch(folder, command);
            awaitPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Asks it something on a connection of its own, and returns the answer as text. */
    public String command(String... words) {
        try (RedisClient client = RedisClient.create(url());
                var connection = client.connect()) {
            CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
            for (String word : Arrays.asList(words).subList(1, words.length)) {
                arguments.add(word);
            }
            List<Object> answer = connection
                    .sync()
                    .dispatch(CommandType.valueOf(words[0]), new ArrayOutput<>(StringCodec.UTF8), arguments);
            return answer.stream().map(String::valueOf).collect(Collectors.joining("\n"));
        }
    }

    /** Lets it stand still, as a machine that is overloaded does. */
    public void freeze() {
        signal("STOP");
    }

    public void thaw() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
            if (kill.waitFor() != 0) {
                fail("kill -" + name + " failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void awaitEnd() {
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                fail("Redis does not end");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        kill();
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

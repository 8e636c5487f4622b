package dev.holdfast.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

/** Who called what, as the log of an application tells it by default, and of two that share a Redis. */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(300)
class AccessLinesTest {
    private static final Duration SOON = Duration.ofSeconds(30);
    private static final String ALICE = "Basic " + Base64.getEncoder().encodeToString("alice:secret".getBytes(UTF_8));
    private static final String WHO = "client=\"wire\" version=\"1\" principal=\"alice\"";

    @TempDir
    Path folder;

    /** Logs as Spring Boot does by default, whatever the tests of another module have on the class path. */
    private static String logging(Path folder) throws IOException {
        String base = "org/springframework/boot/logging/logback/";
        return "--logging.config="
                + Files.writeString(
                        folder.resolve("logback.xml"),
                        "<configuration><include resource=\"" + base + "defaults.xml\"/><include resource=\"" + base
                                + "console-appender.xml\"/>"
                                + "<root level=\"INFO\"><appender-ref ref=\"CONSOLE\"/></root></configuration>");
    }

    /** What lines say of a session, behind its name and without times. */
    private static List<String> told(String log, Wire client) {
        String name = "session " + client.session().substring(0, 8) + ": ";
        return log.lines()
                .filter(line -> line.contains(" dev.holdfast.access ") && line.contains(name))
                .map(line -> line.substring(line.indexOf(name) + name.length()))
                .map(line -> line.replaceAll(" (?:age|unused|took)=\\d+m?s", ""))
                .toList();
    }

    private static String call(String tool) {
        return "call method=\"tools/call\" tool=\"" + tool
                + "\" outcome=answered resumed=0 rerun=false principal=\"alice\"";
    }

    @Test
    void sessionsAreToldByDefaultAndCallsAreNot(CapturedOutput output) throws Exception {
        Wire client;
        try (ConfigurableApplicationContext application = Applications.start(AiApplication.class, logging(folder))) {
            client = Wire.open(Applications.port(application), "/mcp", "Authorization", ALICE);
            client.call("greet", "{\"name\":\"you\"}");
            assertThat(client.delete()).isEqualTo(200);
        }
        assertThat(told(output.getOut(), client))
                .containsExactly(
                        "opened " + WHO + " protocol=\"2025-11-25\" over=http",
                        "ended reason=terminated code=1001 calls=1 " + WHO + ": terminated by the client");
    }

    /** What an application that shares a Redis is started with. */
    private static List<String> shared(Path folder, String name, RedisServer redis) throws IOException {
        return List.of(
                "--holdfast.node.name=" + name,
                "--holdfast.node.lease=30s",
                "--holdfast.store.type=redis",
                "--holdfast.store.redis.timeout=20s",
                "--holdfast.store.redis.url=" + redis.url(),
                logging(folder),
                "--logging.level.dev.holdfast.access=debug");
    }

    /** An application in a process of its own, with a log of its own. */
    private record Node(Process process, Path log) implements AutoCloseable {
        static Node start(Path folder, String name, RedisServer redis) throws IOException {
            List<String> words = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:TieredStopAtLevel=1",
                    "-XX:+UseSerialGC",
                    "-cp",
                    System.getProperty("java.class.path"),
                    SpringApplication.class.getName(),
                    "--spring.main.sources=" + AiApplication.class.getName(),
                    "--server.port=0",
                    "--spring.ai.mcp.server.protocol=STREAMABLE"));
            words.addAll(shared(folder, name, redis));
            Path log = folder.resolve(name + ".log");
            Process process = new ProcessBuilder(words)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            return new Node(process, log);
        }

        String text() {
            try {
                return Files.readString(log);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        int port() {
            Pattern started = Pattern.compile("Tomcat started on port (\\d+)");
            await().atMost(SOON.multipliedBy(4))
                    .until(() -> started.matcher(text()).find() || !process.isAlive());
            Matcher found = started.matcher(text());
            assertThat(found.find()).as(text()).isTrue();
            return Integer.parseInt(found.group(1));
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    private static void tells(Supplier<String> log, Wire client, String... lines) {
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(told(log.get(), client)).containsExactly(lines));
    }

    @Test
    void aSessionThatMovesIsToldByEachNodeThatServesItAndACallByTheOneThatRunsIt(CapturedOutput output)
            throws Exception {
        try (RedisServer redis = RedisServer.start();
                Node two = Node.start(folder, "two", redis);
                ConfigurableApplicationContext one = Applications.start(
                        AiApplication.class, shared(folder, "one", redis).toArray(String[]::new))) {
            Wire here = Wire.open(Applications.port(one), "/mcp", "Authorization", ALICE);
            here.call("greet", "{\"name\":\"you\"}");
            Wire there = here.at(two.port());
            there.call("slow", "{\"millis\":1}");
            String opened = "opened " + WHO + " protocol=\"2025-11-25\" over=http";
            String joined = opened.replace("opened", "joined");
            tells(output::getOut, here, opened, call("greet"));
            tells(two::text, here, joined, call("slow"));

            assertThat(there.delete()).isEqualTo(200);

            String ended = "ended reason=terminated code=1001 calls=1 " + WHO + ": terminated by the client";
            tells(two::text, here, joined, call("slow"), ended);
            tells(output::getOut, here, opened, call("greet"), ended);
            assertThat(Stream.of(output.getOut(), two.text())).noneMatch(text -> text.contains(here.session()));
        }
    }
}

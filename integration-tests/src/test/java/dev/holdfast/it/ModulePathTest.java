package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An application on the module path compiles, runs with the SDK's adapter and the RocksDB store, and sees public packages only. */
@Tag("jdk")
@Timeout(120)
class ModulePathTest {
    private static final Path SOURCES = Path.of("src/test/modular");
    private static final Path FRONT = Path.of("src/test/modular-upstream");
    /** What only tests need. On a module path it would stand in the way: some of it has packages of others. */
    private static final Predicate<String> OF_TESTS = Pattern.compile(
                    "test-classes|/mcp-test/|/mcp-json-jackson2/|/junit|/archunit|/lincheck|/jazzer|/assertj|/testcontainers/|/tomcat"
                            + "|/reactor-test/|/awaitility|/kotlin|/byte-buddy|/mockito|/hamcrest|/logback|/holdfast-gateway|/holdfast-micrometer|/micrometer|/opentelemetry|/prometheus|/HdrHistogram|/LatencyUtils|/aopalliance|/context-propagation|/holdfast-store-tck")
            .asPredicate();

    @TempDir
    Path folder;

    private static String modulePath() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(OF_TESTS.negate())
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** What the compiler says of these sources, which is nothing where they are right. */
    private String compiled(Path sources) throws IOException {
        List<String> words = new ArrayList<>(List.of(
                "-proc:none", "--module-path", modulePath(), "-d", classes().toString()));
        try (Stream<Path> files = Files.walk(sources)) {
            files.map(Path::toString).filter(file -> file.endsWith(".java")).forEach(words::add);
        }
        StringWriter said = new StringWriter();
        PrintWriter writer = new PrintWriter(said);
        ToolProvider.findFirst("javac").orElseThrow().run(writer, writer, words.toArray(new String[0]));
        return said.toString();
    }

    private Path classes() {
        return folder.resolve("classes");
    }

    private Process server() throws IOException {
        // the SDK has no descriptor that would name what its JSON mapper needs
        return started(
                "--add-modules",
                "ALL-MODULE-PATH",
                "--module",
                "com.example.server/com.example.server.Application",
                folder.resolve("sessions").toString());
    }

    private Process started(String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of("--module-path", classes() + File.pathSeparator + modulePath()));
        command.addAll(List.of(words));
        return JavaProcess.launch(command);
    }

    private static int port(Process application) throws IOException {
        return Integer.parseInt(FirstLine.of(application));
    }

    private static void end(Process application) throws Exception {
        application.outputWriter().close();
        assertThat(application.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(application.exitValue()).isZero();
    }

    @Test
    void anApplicationOnTheModulePathServesSessionsThatOutliveIt() throws Exception {
        assertThat(compiled(SOURCES)).isEmpty();
        Process first = server();
        Process second = null;
        try {
            RawSession session = RawSession.open(port(first));
            session.assertAlive();
            end(first);

            second = server();
            session.movedTo(port(second)).assertAlive();
            end(second);
        } finally {
            first.destroyForcibly();
            if (second != null) {
                second.destroyForcibly();
            }
        }
    }

    /** Jetty's client is not among its modules. */
    @Test
    void anApplicationOnTheModulePathServesAnotherServer() throws Exception {
        assertThat(compiled(FRONT)).isEmpty();
        try (OfficialServer behind = OfficialServer.start(Tools.echo())) {
            Process front = started(
                    "--module",
                    "com.example.front/com.example.front.Front",
                    OfficialServer.at(behind.port()).toString(),
                    "0");
            try {
                RawSession.open(URI.create(FirstLine.of(front).replace("serving ", ""))
                                .getPort())
                        .assertAlive();
                end(front);
            } finally {
                front.destroyForcibly();
            }
        }
    }

    @Test
    void whatIsInternalIsNotSeen() throws Exception {
        Path sources = Files.createDirectories(folder.resolve("sources"));
        Files.writeString(
                sources.resolve("module-info.java"),
                "module com.example.curious { requires dev.holdfast.mcp; requires dev.holdfast.rocksdb; requires dev.holdfast.upstream; requires dev.holdfast.json; }");
        Files.writeString(
                sources.resolve("Curious.java"),
                "package com.example; class Curious { dev.holdfast.session.LiveSession session; dev.holdfast.log.Streams streams;"
                        + " dev.holdfast.servlet.guard.Rejection rejection; dev.holdfast.json.backend.OpenQuestions questions; }");

        assertThat(compiled(sources))
                .contains("package dev.holdfast.session is not visible")
                .contains("package dev.holdfast.log is not visible")
                .contains("package dev.holdfast.servlet.guard is not visible")
                .contains("package dev.holdfast.json.backend is not visible");
    }
}

package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What stands in the place of a file that an option names. */
@Tag("jdk")
@Timeout(120)
class FilesThatAreNoneTest {
    private static final String TOKEN = "0123456789abcdef";
    private static final String PING = "{'jsonrpc':'2.0','id':2,'method':'ping'}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    /** The words of a command line that reads this file. */
    private static List<String> words(String option, Path file) {
        List<String> words = new ArrayList<>();
        switch (option) {
            case "--header-file" -> Collections.addAll(words, "connect", "http://127.0.0.1:9/mcp", option);
            case "--auth-token-file" -> Collections.addAll(words, "serve", "--port", "0", "--store", "memory", option);
            case "--sentinel-password-file" ->
                Collections.addAll(
                        words, "serve", "--port", "0", "--store", "redis-sentinel://127.0.0.1:9/0#main", option);
            default -> Collections.addAll(words, "serve", "--port", "0", "--store", "redis://127.0.0.1:9", option);
        }
        words.add(file.toString());
        return words;
    }

    private ProcessBuilder gateway(List<String> jvm, List<String> words) throws IOException {
        return GatewayProcess.builder(folder, jvm, words)
                .redirectError(folder.resolve("log").toFile())
                .redirectOutput(folder.resolve("out").toFile());
    }

    /** What the command says that is refused. */
    private static String refused(String option, Path file) {
        StringWriter said = new StringWriter();
        PrintWriter out = new PrintWriter(Writer.nullWriter());
        assertThat(Main.run(out, new PrintWriter(said), words(option, file).toArray(String[]::new)))
                .isEqualTo(1);
        return said.toString();
    }

    /** The same of a process with little memory, which ends though somebody still reads. */
    private String refusedByAProcess(String option, Path file) throws Exception {
        Process process = gateway(List.of("-Xmx64m"), words(option, file)).start();
        try {
            process.getOutputStream().close();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(1);
            return log().lines()
                    .filter(line -> !line.startsWith("NOTE: Picked up"))
                    .collect(Collectors.joining("\n"));
        } finally {
            process.destroyForcibly();
        }
    }

    private String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path file(String kind) throws Exception {
        Path file = folder.resolve("file");
        switch (kind) {
            case "pipe" ->
                assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                        .isZero();
            case "folder" -> Files.createDirectory(file);
            case "binary" -> Files.write(file, new byte[] {(byte) 0xff, (byte) 0xfe, 'a'});
            case "none" -> {}
            // a device, or the memory of the reader, whose first byte cannot be read, by root either
            default -> file = Path.of(kind);
        }
        return file;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--store-password-file    | /dev/zero      | has more than 16 MiB; ",
                "--sentinel-password-file | /dev/zero      | has more than 16 MiB; ",
                "--header-file            | /dev/zero      | has more than 16 MiB; ",
                "--auth-token-file        | folder         | is a folder; name a file in it",
                "--store-password-file    | folder         | is a folder; ",
                "--header-file            | folder         | is a folder; ",
                "--sentinel-password-file | none           | there is no such file; make it, or name another",
                "--header-file            | none           | there is no such file; ",
                "--store-password-file    | binary         | is not UTF-8; save it as UTF-8",
                "--header-file            | binary         | is not UTF-8; ",
                "--auth-token-file        | /proc/self/mem | cannot be read (",
            })
    void whatIsNoTextFileIsNamedWithItsOption(String option, String kind, String why) throws Exception {
        Path file = file(kind);

        assertThat(refused(option, file))
                .startsWith("holdfast: " + option + " " + file + ": " + why)
                .hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--auth-token-file | /dev/zero | has more than 16 MiB; ",
                "--auth-token-file | pipe      | did not end within 10 s; write to it and close it, or name a file",
                "--header-file     | pipe      | did not end within 10 s; ",
            })
    void whatHasNoEndHarmsNobody(String option, String kind, String why) throws Exception {
        Path file = file(kind);

        assertThat(refusedByAProcess(option, file))
                .startsWith("holdfast: " + option + " " + file + ": " + why)
                .hasLineCount(1);
    }

    @Test
    void aLineThatIsNoHeaderIsNamed() throws Exception {
        Path file = Files.writeString(folder.resolve("file"), "X-A: 1\nsecret\n");

        assertThat(refused("--header-file", file))
                .startsWith("holdfast: --header-file " + file + ", line 2: a header is written as")
                .doesNotContain("secret");
    }

    /** As in {@code --auth-token-file <(pass show tokens)}. */
    @Test
    void aPipeThatIsWrittenIsReadOnce() throws Exception {
        Path pipe = file("pipe");
        Process writer = new ProcessBuilder("sh", "-c", "echo alice " + TOKEN + " >\"$0\"", pipe.toString()).start();
        try (GatewayProcess gateway = new GatewayProcess(gateway(List.of(), words("--auth-token-file", pipe))
                .redirectOutput(ProcessBuilder.Redirect.PIPE)
                .start())) {
            HttpPeer peer = HttpPeer.connected(gateway.url(), "Authorization", "Bearer " + TOKEN);
            Wait.until("the log says so", () -> {
                assertThat(peer.post(PING).statusCode()).isEqualTo(200);
                return log().contains("is not read again when it changes, for it is no regular file");
            });
            assertThat(peer.post(PING).statusCode()).isEqualTo(200);
        } finally {
            writer.destroyForcibly();
        }
    }

    @Test
    void aFileOfManyTokensIsReadQuickly() throws Exception {
        int lines = 100_000;
        Path file = folder.resolve("tokens");
        Files.write(
                file,
                IntStream.range(0, lines)
                        .mapToObj(i -> "principal-" + i + "@example.com " + TOKEN + "-abcdefgh-ijklmnop-" + i)
                        .toList());
        long began = System.nanoTime();
        try (GatewayProcess gateway = new GatewayProcess(gateway(List.of(), words("--auth-token-file", file))
                .redirectOutput(ProcessBuilder.Redirect.PIPE)
                .start())) {
            HttpPeer.connected(gateway.url(), "Authorization", "Bearer " + TOKEN + "-abcdefgh-ijklmnop-" + (lines - 1));
            assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began))
                    .as("seconds; in quadratic time it takes minutes")
                    .isLessThan(30);
        }
    }
}

package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.upstream.ForwardedHeaders;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The file of {@code --config}. */
class ServersFileTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    /** Writes it, with double quotes for single ones, and reads it. */
    private Map<String, ServeOptions> read(String text, String... words) throws IOException {
        Path file = folder.resolve("servers.json");
        Files.writeString(file, TestJson.of(text));
        return new ServersFile(file, KnobValues.of(Knobs.SERVE, List.of(words))).read();
    }

    private static ServeOptions of(Map<String, ServeOptions> servers, String name) {
        return Objects.requireNonNull(servers.get(name));
    }

    private static ServerCommand command(ServeOptions options) {
        return ((ServerChoice.Command) options.server()).command();
    }

    @Test
    void theObjectOfDesktopClientsIsReadWithVariables() throws IOException {
        Map<String, ServeOptions> servers = read("""
                {
                  'theme': {'of': ['a client']},
                  'mcpServers': {
                    'files': {
                      'type': 'stdio', 'command': '${NO_SUCH_RUNTIME:-node}', 'args': ['server.mjs', '--port', 3000, '${PATH}'],
                      'env': {'TOKEN': 'x${NO_SUCH_TOKEN:-}y', 'DEBUG': true}, 'cwd': '/srv', 'timeout': 60,
                      'holdfast': {'protocols': 'both', 'task-after': '1s', 'max-children': 4, 'no-sse': true, 'allowed-host': ['a.example', 'b.example']}
                    },
                    'far': {'type': 'http', 'url': 'https://mcp.example/mcp', 'headers': {'Authorization': 'Bearer ${NONE:-t}'}},
                    'off': {'disabled': true, 'command': '${NOT_SET}', 'whatever': 1}
                  }
                }""", "--store", "rocksdb:data", "--heartbeat", "7s");

        assertThat(servers).containsOnlyKeys("files", "far");
        ServeOptions files = of(servers, "files");
        assertThat(command(files))
                .isEqualTo(new ServerCommand(
                        List.of("node", "server.mjs", "--port", "3000", System.getenv("PATH")),
                        Optional.of(Map.of("TOKEN", "xy", "DEBUG", "true")),
                        Optional.of(Path.of("/srv"))));
        assertThat(files.get(Knobs.TASK_AFTER)).isEqualTo(Duration.ofSeconds(1));
        assertThat(files.get(Knobs.HEARTBEAT)).isEqualTo(Duration.ofSeconds(7));
        assertThat(files.get(Knobs.ALLOWED_HOST)).containsExactly("a.example", "b.example");
        assertThat(files.maxChildren()).isEqualTo(4);
        assertThat(files.paths()).containsExactly("/files/mcp");
        assertThat(files.store().folder()).contains(Path.of("data", "files"));
        ServeOptions far = of(servers, "far");
        assertThat(far.paths()).containsExactly("/far/mcp", "/far/sse", "/far/message");
        assertThat(far.server()).asString().contains("mcp.example", "Authorization=Bearer t");
    }

    @Test
    void whatHasNotChangedIsTheSame() throws IOException {
        String text = "{'mcpServers': {'a': {'command': 'x', 'holdfast': {'retry': '2s', 'allowed-host': 'n'}},"
                + " 'b': {'url': 'http://localhost/mcp', 'holdfast': {'forward-header': 'X-A'}}}}";
        Map<String, ServeOptions> one = read(text);
        Map<String, ServeOptions> two = read(text);
        Map<String, ServeOptions> three = read(text.replace("2s", "3s").replace("/mcp", "/other"));

        assertThat(one.keySet()).allSatisfy(name -> {
            assertThat(of(one, name).becomes(of(two, name))).as(name).isTrue();
            assertThat(of(one, name).server()).isEqualTo(of(two, name).server());
        });
        assertThat(of(one, "a").becomes(of(three, "a"))).isFalse();
        assertThat(of(one, "b").becomes(of(three, "b"))).isTrue();
        assertThat(of(one, "b").server()).isNotEqualTo(of(three, "b").server());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'command': 'x' | `` | 'heartbeat': '15s', 'no-sse': false, 'allowed-host': [], 'isolation': 'PRINCIPAL' | true",
                "'command': 'x' | `` | 'store': 'rocksdb:./holdfast-data' | true",
                "'command': 'x' | `` | 'drain-timeout': '1s' | true",
                "'command': 'x' | `` | 'heartbeat': '15000ms' | true",
                "'url': 'http://h/' | `` | 'forward-header': [] | true",
                "'command': 'x' | 'heartbeat': '16s' | 'heartbeat': '15s' | false",
                "'command': 'x' | 'no-sse': true | 'no-sse': false | false",
                "'command': 'x' | `` | 'max-children': 7 | false",
                "'url': 'http://h/' | `` | 'forward-header': 'X-A' | false",
            })
    void onlyAKnobThatHasAnotherValueChangesAServer(String server, String knobs, String others, boolean becomes)
            throws IOException {
        String text = "{'mcpServers': {'a': {" + server + ", 'holdfast': {%s}}}}";
        ServeOptions one = of(read(text.formatted(knobs)), "a");
        ServeOptions two = of(read(text.formatted(others)), "a");

        assertThat(one.becomes(two)).isEqualTo(becomes);
        assertThat(two.becomes(one)).isEqualTo(becomes);
        if (becomes) {
            assertThat(two.edge(List.of(), ForwardedHeaders.NONE).isolation())
                    .isEqualTo(one.edge(List.of(), ForwardedHeaders.NONE).isolation());
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'mcpServers': {^'a': {'command': 'x',}}} | 2 | 22 | is no JSON: Unexpected character ('}' (code 125))",
                "{'mcpServers': {'a': {'command': 'x'}, ^'a': {}}} | 2 | 4 | is no JSON: Duplicate Object property",
                "{'mcpServers': {'a': {'command': 'x'} | 1 | 38 | is no JSON: Unexpected end-of-input",
                "[] | 1 | 1 | the file must be an object",
                "{'servers': {}} | 1 | 1 | the object has no member mcpServers; put the servers into one",
                "{'mcpServers': []} | 1 | 16 | mcpServers must be an object",
                "{'mcpServers': {} } {} | 1 | 21 | something stands behind the end of the object; remove it",
                "{'mcpServers': {'a b': {'command': 'x'}}} | 1 | 24 | the name 'a b' is to be a part of a path",
                "{'mcpServers': {'..': {'command': 'x'}}} | 1 | 23 | the name '..' is to be a part of a path",
                "{'mcpServers': {'a': {}}} | 1 | 22 | server a: it needs command or url, and one of them only",
                "{'mcpServers': {'a': {'command': 'x', 'url': 'http://h/'}}} | 1 | 22 | server a: it needs command or url",
                "{'mcpServers': {'a': {'command': 'x',^ 'arg': []}}} | 2 | 9 | server a: 'arg' is no member of a server",
                "{'mcpServers': {'a': {'url': 'http://h/',^ 'env': {}}}} | 2 | 9 | server a: env does not go with url",
                "{'mcpServers': {'a': {'command': ['x']}}} | 1 | 34 | server a: command must be a text",
                "{'mcpServers': {'a': {'command': '${NOT_SET}'}}} | 1 | 34 | server a: command has ${NOT_SET}, which is not set",
                "{'mcpServers': {'a': {'command': '${input:k}'}}} | 1 | 34 | server a: command has a ${ that begins no variable",
                "{'mcpServers': {'a': {'url': 'ftp://h/s3cret'}}} | 1 | 30 | server a: url must be as in https://mcp.example/mcp, without",
                "{'mcpServers': {'a': {'url': 'http://h/s3cret\\n'}}} | 1 | 30 | server a: url must be as in https://mcp.example/mcp, without",
                "{'mcpServers': {'a': {'disabled': 'yes', 'command': 'x'}}} | 1 | 35 | server a: disabled must be true or false",
                "{'mcpServers': {'a': {'command': 'x', 'args': ['s3cret\\u0000']}}} | 1 | 48 | server a: args must not have the character U+0000",
                "{'mcpServers': {'a': {'command': 'x', 'env': {'A': 's3cret\\u0000'}}}} | 1 | 52 | server a: A must not have the character U+0000",
                "{'mcpServers': {'a': {'command': 'x', 'env': {'A=s3cret': ''}}}} | 1 | 59 | server a: env has a name that no variable can have",
                "{'mcpServers': {'a': {'command': 'x', 'cwd': 's3cret\\u0000'}}} | 1 | 46 | server a: cwd must not have the character U+0000",
                "{'mcpServers': {'a': {'url': 'http://h/', 'headers': {'Host': 'x'}}}} | 1 | 54 | server a: forwarded must be",
                "{'mcpServers': {'a': {'command': 'x', 'holdfast': {^'task-aftre': '1s'}}}} | 2 | 15 | server a: there is no knob 'task-aftre'",
                "{'mcpServers': {'a': {'command': 'x', 'holdfast': {^'task-after': '1'}}}} | 2 | 15 | server a: task-after: '1' is no time",
                "{'mcpServers': {'a': {'command': 'x', 'holdfast': {^'max-children': 0}}}} | 2 | 17 | server a: max-children must be 1 to",
                "{'mcpServers': {'a': {'command': 'x', 'holdfast': {^'heartbeat': []}}}} | 2 | 14 | server a: heartbeat has no value",
                "{'mcpServers': {'a': {'command': 'x', 'holdfast': {^'port': 1}}}} | 2 | 9 | server a: port is a knob of the gateway",
                "{'mcpServers': {'a': {'url': 'http://h/', 'holdfast': {'max-children': 1}}}} | 1 | 72 | server a: max-children is for a server with command",
                "{'mcpServers': {'a': {'command': 'x', 'holdfast': {'no-sse': true, 'base-url': '/x'}}}} | 1 | 22 | server a: --base-url is for HTTP+SSE",
            })
    void whatIsWrongIsToldWithLineAndColumn(String text, int line, int column, String why) {
        assertThatThrownBy(() -> read(text.replace('^', '\n')))
                .isInstanceOf(GatewayException.class)
                .hasMessageStartingWith("--config " + folder.resolve("servers.json") + ", line " + line + ", column "
                        + column + ": " + why)
                .hasMessageNotContaining("s3cret");
    }

    @Test
    void whatHasNoPlaceIsToldWithoutOne() {
        assertThatThrownBy(() -> read("[".repeat(10_000)))
                .isInstanceOf(GatewayException.class)
                .hasMessageContaining("is no JSON: Document nesting depth");
    }

    @Test
    void aChangeIsSeenInTheContentAlone() throws IOException {
        Path path = folder.resolve("servers.json");
        String text = TestJson.of("{'mcpServers': {'a': {'command': 'x'}}}");
        Files.writeString(path, text);
        FileTime time = Files.getLastModifiedTime(path);
        ServersFile file = new ServersFile(path, KnobValues.of(Knobs.SERVE, List.of()));
        file.read();
        assertThat(file.changed()).isEmpty();

        Files.writeString(path, text.replace('x', 'y'));
        Files.setLastModifiedTime(path, time);

        assertThat(command(of(file.changed().orElseThrow(), "a")).program()).isEqualTo("y");
        assertThat(file.changed()).isEmpty();
        Files.delete(path);
        assertThat(file.changed()).isEmpty();
        Files.writeString(path, text.replace('x', 'z'));
        assertThat(command(of(file.changed().orElseThrow(), "a")).program()).isEqualTo("z");
        assertThat(file.again()).isPresent();
    }

    @Test
    void noMessageShowsTheValueOfAHeader() {
        assertThatThrownBy(() -> read("{'mcpServers': {'a': {'url': 'http://h/', 'headers': {'X-Key': 'secret\\n'}}}}"))
                .isInstanceOf(GatewayException.class)
                .message()
                .contains("X-Key")
                .doesNotContain("secret");
    }
}

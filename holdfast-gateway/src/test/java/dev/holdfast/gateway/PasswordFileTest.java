package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.stdio.ShellServer;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The password for Redis in a file. */
@Timeout(180)
class PasswordFileTest {
    private static final String PASSWORD = "p@s:s/%2Fword?";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private GatewayProcess start(String store, String line, String... more) throws IOException {
        Path file = Files.writeString(folder.resolve("password"), line);
        List<String> serve =
                List.of("serve", "--port", "0", "--store", store, "--store-password-file", file.toString());
        return new GatewayProcess(GatewayProcess.builder(
                        folder,
                        List.of(),
                        TestGateway.words(
                                TestGateway.words(serve, TestGateway.words(Arrays.asList(more), List.of("--"))),
                                ShellServer.COMMAND.words()))
                .redirectError(folder.resolve("log").toFile())
                .start());
    }

    private static String shown(long pid, String file) throws IOException {
        return new String(Files.readAllBytes(Path.of("/proc/" + pid + "/" + file)), UTF_8);
    }

    @ParameterizedTest
    @CsvSource({"redis://, default", "redis://my%2Bworker@, my+worker"})
    void theGatewayUsesItAndItsChildDoesNotGetIt(String begin, String user) throws IOException {
        String[] settings = {"--user", user, "on", ">" + PASSWORD, "~*", "&*", "+@all"};
        try (RedisServer redis = RedisServer.start(settings);
                GatewayProcess gateway =
                        start(redis.url().replace("redis://", begin), PASSWORD + "\r\nanother line\n")) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            long child = TestGateway.server(peer, 1).pid();

            for (long pid : List.of(gateway.process().pid(), child)) {
                assertThat(shown(pid, "cmdline")).doesNotContain(PASSWORD);
                assertThat(shown(pid, "environ")).doesNotContain(PASSWORD);
            }
        }
    }

    @Test
    void thatOfTheSentinelsIsInAnotherFile() throws IOException {
        Path sentinels = Files.writeString(folder.resolve("sentinels"), "of-sentinels\n");
        try (RedisServer redis = RedisServer.start("--requirepass", "of-redis");
                RedisServer sentinel = RedisServer.startSentinel(
                        redis, "requirepass of-sentinels", "sentinel auth-pass main of-redis");
                GatewayProcess gateway = start(
                        "redis-sentinel://127.0.0.1:" + sentinel.port() + "/0#main",
                        "of-redis\n",
                        "--sentinel-password-file",
                        sentinels.toString())) {
            assertThat(TestGateway.server(HttpPeer.connected(gateway.url()), 1).pid())
                    .isPositive();
        }
    }

    @Test
    void oneThatRedisRefusesIsNotTold() throws Exception {
        try (RedisServer redis = RedisServer.start("--requirepass", "another");
                GatewayProcess gateway = start(redis.url(), PASSWORD)) {
            assertThat(gateway.process().waitFor(60, TimeUnit.SECONDS)).isTrue();

            assertThat(gateway.process().exitValue()).isEqualTo(1);
            assertThat(folder.resolve("log"))
                    .content()
                    .contains("holdfast: " + redis.url() + " cannot be used")
                    .doesNotContain(PASSWORD);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", " \nsecret\n", "\uFEFF"})
    void aFileWithoutOneIsRefused(String text) throws IOException {
        Path file = Files.writeString(folder.resolve("password"), text);

        assertThatThrownBy(() -> new StoreChoice.PasswordFile(new OptionFile("--store-password-file", file), "default")
                        .give(RedisStore.builder("redis://a")::credentials))
                .isInstanceOf(GatewayException.class)
                .hasMessage("--store-password-file " + file + ": the first line must be the password, and is empty");
    }

    @Test
    void aFileThatIsNotThereIsRefused() {
        Path file = folder.resolve("password");

        assertThatThrownBy(() -> new StoreChoice.PasswordFile(new OptionFile("--store-password-file", file), "default")
                        .give(RedisStore.builder("redis://a")::credentials))
                .isInstanceOf(GatewayException.class)
                .hasMessage("--store-password-file " + file + ": there is no such file; make it, or name another");
    }
}

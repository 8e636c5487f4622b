package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.FreePort;
import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A gateway that starts before its Redis can be used. */
@Timeout(120)
class RedisStartTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final RedisServer redis = RedisServer.start();

    @SuppressWarnings("NullAway.Init")
    private Path log;

    @BeforeEach
    void log() {
        log = folder.resolve("log");
    }

    @AfterEach
    void end() {
        redis.close();
    }

    private GatewayProcess start(String url) throws IOException {
        return new GatewayProcess(
                GatewayProcess.builder(folder, List.of(), List.of("serve", "--port", "0", "--store", url, "--", "cat"))
                        .redirectError(log.toFile())
                        .start());
    }

    private void awaitWaiting() {
        Wait.until("it waits", Wait.START, () -> waitings() > 0);
    }

    private long waitings() {
        try {
            return Files.readString(log)
                    .lines()
                    .filter(line -> line.contains("waiting up to"))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void itWaitsForOneThatDoesNotAnswerYetAndTellsTheLogOnce() throws Exception {
        redis.freeze();
        try (GatewayProcess gateway = start(redis.url())) {
            awaitWaiting();
            // at least one more look
            assertThat(gateway.process().waitFor(4, TimeUnit.SECONDS)).isFalse();
            redis.thaw();

            assertThat(gateway.url()).isNotNull();
            assertThat(waitings()).isOne();
            assertThat(log).content().contains("waiting up to 1m for it");
        }
    }

    @Test
    void itWaitsForOneThatIsStartedLater() throws Exception {
        redis.kill();
        try (GatewayProcess gateway = start(redis.url())) {
            awaitWaiting();
            redis.startAgain();

            assertThat(gateway.url()).isNotNull();
        }
    }

    @Test
    void whereNothingStartsItEndsSoon() throws Exception {
        String url = "redis://127.0.0.1:" + FreePort.next();
        try (GatewayProcess gateway = start(url)) {
            assertThat(gateway.exitCode(60)).isOne();
            assertThat(log).content().contains("holdfast: " + url + " cannot be used", "choose another by --store");
        }
    }

    @Test
    void anAddressThatIsNoneEndsItAtOnce() throws Exception {
        try (GatewayProcess gateway = start("redis://no-such-host.invalid")) {
            assertThat(gateway.exitCode(60)).isOne();
            assertThat(waitings()).isZero();
            assertThat(log).content().contains("holdfast: redis://no-such-host.invalid cannot be used");
        }
    }
}

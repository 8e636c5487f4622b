package dev.holdfast.redis;

import static dev.holdfast.redis.Given.failureOf;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The queue of large commands. */
class LargeCommandsTest {
    private static final byte[][] LARGE = {new byte[1 << 20]};

    /** Lettuce throws at once if an address has no host. */
    @Test
    void aConnectionThatCannotEvenBeBegunFailsEachCommandAndHoldsUpNone() {
        Address nowhere = new Address(List.of(new RedisURI()), false, "redis://nowhere");
        Duration timeout = Duration.ofSeconds(10);
        try (RedisConnector connector = new RedisConnector(
                        new RedisConnector.Settings(nowhere, "", timeout, 100, SslOptions.create()));
                LargeCommands large = new LargeCommands(connector, "redis://nowhere", timeout)) {
            for (int i = 0; i < 3; i++) {
                assertThat(failureOf(large.run(LARGE, redis -> redis.echo(LARGE[0]))))
                        .rootCause()
                        .isInstanceOf(RedisStoreException.class)
                        .hasMessage("redis://nowhere has no connection for large values");
            }
        }
    }
}

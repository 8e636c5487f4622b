package dev.holdfast.redis;

import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Redis answers, and gives no messages. */
class InboxReaderTest {
    @AutoClose
    private final LogLines log = new LogLines(RedisBus.class);

    private final List<String> lines = log.all();

    @Test
    void anInboxThatMayNotBeReadIsToldUntilItIsReadAgain() {
        AtomicInteger heard = new AtomicInteger();
        try (RedisServer server = RedisServer.start();
                RedisStore store =
                        RedisStore.builder(server.url()).timeout(Given.PATIENCE).open()) {
            await(store.bus().begin("node", Duration.ofMinutes(1)));
            try (var inbox = store.bus().receive("node", message -> heard.incrementAndGet())) {
                assertThat(inbox).isNotNull();
                server.command("ACL", "SETUSER", "default", "-xread");
                // what waits for a message has begun before
                await(store.bus().send("node", new byte[] {1}));
                until("it is told", () -> !lines.isEmpty());
                assertThat(lines)
                        .singleElement()
                        .asString()
                        .startsWith("WARN the inbox ")
                        .contains(" cannot be read: ")
                        .contains("NOPERM");

                await(store.bus().send("node", new byte[] {2}));
                server.command("ACL", "SETUSER", "default", "+xread");
                until("both have come", () -> heard.get() == 2);
                until("the end of it is told", () -> lines.size() == 2);
                assertThat(lines.get(1)).startsWith("INFO the inbox ").endsWith(" is read again");
            }
        }
    }
}

package dev.holdfast.redis;

import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Redis answers, and gives no messages. */
class InboxReaderTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger(InboxReader.class);
    private final Level level = logger.getLevel();
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>() {
        @Override
        protected void append(ILoggingEvent line) {
            lines.add(line.getLevel() + " " + line.getFormattedMessage());
        }
    };

    @BeforeEach
    void listen() {
        log.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(log);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(log);
        logger.setLevel(level);
    }

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

package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.LogThrottle;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** A child that floods its error output does not flood the log. */
@Tag("jdk")
class ChildErrorsTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger("dev.holdfast.gateway");
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final AtomicLong clock = new AtomicLong();
    private final LogThrottle throttle = new LogThrottle(Child.LOG_LINES, clock::get);

    @BeforeEach
    void listen() {
        logger.setLevel(ch.qos.logback.classic.Level.INFO);
        log.start();
        logger.addAppender(log);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(log);
        logger.setLevel(null);
    }

    private List<String> lines() {
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Test
    void aFloodOfErrorsIsCutAndItsLastLinesAreKept() {
        StringBuilder flood = new StringBuilder();
        IntStream.rangeClosed(1, 100_000)
                .forEach(i -> flood.append("line ").append(i).append('\n'));
        ChildErrors errors = errors(flood.toString());

        errors.finish();

        assertThat(errors.last()).isEqualTo("line 99996\nline 99997\nline 99998\nline 99999\nline 100000");
        assertThat(lines()).hasSize(Child.LOG_LINES).contains("child 1: line 1");

        clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
        errors("after\n").finish();
        assertThat(lines()).last().asString().isEqualTo("child 1: after, and before that another 99900 of this kind");
    }

    private ChildErrors errors(String text) {
        return new ChildErrors(
                new Child.Name("child 1", () -> ""),
                new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)),
                throttle);
    }
}

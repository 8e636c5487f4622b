package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** A child that floods its error output does not flood the log. */
class LineBudgetTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger("dev.holdfast.gateway");
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final AtomicLong clock = new AtomicLong(-1);
    private final LineBudget budget = new LineBudget("child 1", clock::get);

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

    private long taken(int wanted) {
        return IntStream.range(0, wanted).filter(i -> budget.take()).count();
    }

    @Test
    void soManyLinesAreTakenInAWhileAndTheRestIsCounted() {
        assertThat(taken(LineBudget.LINES + 50)).isEqualTo(LineBudget.LINES);
        assertThat(lines()).isEmpty();

        clock.addAndGet(LineBudget.WHILE_NANOS - 1);
        assertThat(taken(7)).isZero();
        clock.addAndGet(1);
        assertThat(taken(1)).isEqualTo(1);

        assertThat(lines()).containsExactly("child 1: 57 more lines were left out of the log");
        assertThat(taken(LineBudget.LINES)).isEqualTo(LineBudget.LINES - 1);
        budget.end();
        budget.end();
        assertThat(lines()).hasSize(2).last().asString().contains("child 1: 1 more");
    }

    @Test
    void aFloodOfErrorsIsCutAndItsLastLinesAreKept() {
        StringBuilder flood = new StringBuilder();
        IntStream.rangeClosed(1, 100_000)
                .forEach(i -> flood.append("line ").append(i).append('\n'));
        ChildErrors errors = new ChildErrors(
                new ChildName("child 1", () -> ""),
                new ByteArrayInputStream(flood.toString().getBytes(StandardCharsets.UTF_8)),
                budget);

        errors.finish();

        assertThat(errors.last()).isEqualTo("line 99996\nline 99997\nline 99998\nline 99999\nline 100000");
        assertThat(lines()).hasSize(LineBudget.LINES + 1).contains("child 1: line 1");
        assertThat(lines()).last().asString().contains("99900 more lines");
    }
}

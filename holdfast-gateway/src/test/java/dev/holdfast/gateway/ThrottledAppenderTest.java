package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.encoder.EchoEncoder;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ThrottledAppenderTest {
    private final LoggerContext context = new LoggerContext();
    private final AtomicLong clock = new AtomicLong();
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    private final ThrottledAppender throttled = new ThrottledAppender(clock::get) {
        @Override
        void write(ILoggingEvent event) {
            written.doAppend(event);
        }
    };
    private final Logger jetty = context.getLogger("org.eclipse.jetty.http.HostPort");
    private final Logger ours = context.getLogger("dev.holdfast.gateway.Child");

    @BeforeEach
    void attach() {
        throttled.setContext(context);
        written.start();
        throttled.setEncoder(new EchoEncoder<>());
        throttled.start();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.INFO);
        root.addAppender(throttled);
    }

    private List<String> lines() {
        return written.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Test
    void aLoggerOfALibraryWritesTenLinesInTenSecondsHoweverTheyDiffer() {
        for (int i = 0; i < 1000; i++) {
            jetty.warn("bad host " + i);
        }
        assertThat(lines()).hasSize(10).startsWith("bad host 0").endsWith("bad host 9");
    }

    @Test
    void theNextLineSaysHowManyWereLeftOutAndIsOtherwiseTheSame() {
        for (int i = 0; i < 1000; i++) {
            jetty.warn("bad host {}", i);
        }
        clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
        IllegalStateException failure = new IllegalStateException("seen");
        jetty.warn("bad port {}", 7, failure);

        ILoggingEvent last = written.list.get(10);
        assertThat(last.getFormattedMessage()).isEqualTo("bad port 7, and before that another 990 of this kind");
        assertThat(last.getLevel()).isEqualTo(Level.WARN);
        assertThat(last.getLoggerName()).isEqualTo(jetty.getName());
        assertThat(last.getThreadName()).isEqualTo(Thread.currentThread().getName());
        assertThat(last.getThrowableProxy().getMessage()).isEqualTo("seen");
    }

    @Test
    void anErrorIsNotLeftOutForWarnings() {
        for (int i = 0; i < 1000; i++) {
            jetty.warn("bad host");
        }
        jetty.error("no more threads");

        assertThat(lines()).endsWith("no more threads");
    }

    @Test
    void ourWarningsAreLimitedByTheirFormat() {
        for (int i = 0; i < 1000; i++) {
            ours.warn("a session could not be opened: {}", i);
        }
        ours.warn("a line was dropped");

        assertThat(lines()).hasSize(21).endsWith("a line was dropped");
    }

    @Test
    void whatWeSayBelowAWarningIsWrittenInFull() {
        for (int i = 0; i < 1000; i++) {
            ours.info("child: line {}", i);
        }
        assertThat(lines()).hasSize(1000);
    }
}

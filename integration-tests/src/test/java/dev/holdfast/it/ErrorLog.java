package dev.holdfast.it;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;

/** Counts what is logged while it is open, by whomever, and keeps only the first errors: for tests that provoke a lot of it. */
final class ErrorLog implements AutoCloseable {
    private static final int KEPT = 20;

    private static final Duration ECHO = Duration.ofSeconds(5);

    private final long opened = System.nanoTime();
    private final LongAdder warnings = new LongAdder();
    private final List<String> errors = new CopyOnWriteArrayList<>();
    private final LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    private final Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
    private final java.util.logging.Logger jdkRoot = java.util.logging.Logger.getLogger("");
    private final Handler[] jdkHandlers = jdkRoot.getHandlers();
    private final List<ch.qos.logback.core.Appender<ILoggingEvent>> appenders;
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            if (isOfAnEarlierTest(event)) {
                return;
            }
            if (event.getLevel().isGreaterOrEqual(Level.ERROR)) {
                IThrowableProxy cause = event.getThrowableProxy();
                error(event.getLoggerName() + ": " + event.getFormattedMessage()
                        + (cause == null ? "" : ": " + cause.getClassName() + ": " + cause.getMessage()));
            } else {
                warnings.increment();
            }
        }
    };
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            if (entry.getLevel().intValue() >= java.util.logging.Level.SEVERE.intValue()) {
                error(entry.getLoggerName() + ": " + entry.getMessage() + ": " + entry.getThrown());
            } else {
                warnings.increment();
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    ErrorLog() {
        List<ch.qos.logback.core.Appender<ILoggingEvent>> before = new java.util.ArrayList<>();
        root.iteratorForAppenders().forEachRemaining(before::add);
        appenders = List.copyOf(before);
        appenders.forEach(root::detachAppender);
        appender.setContext(context);
        appender.start();
        root.addAppender(appender);
        for (Handler each : jdkHandlers) {
            jdkRoot.removeHandler(each);
        }
        jdkRoot.addHandler(handler);
    }

    /** Clients of the SDK that other tests have closed go on to complain for a while, on threads that all share. */
    private boolean isOfAnEarlierTest(ILoggingEvent event) {
        return System.nanoTime() - opened < ECHO.toNanos()
                && Stream.of("parallel-", "boundedElastic-", "HttpClient-").anyMatch(event.getThreadName()::startsWith)
                && Stream.of("io.modelcontextprotocol", "reactor.core").anyMatch(event.getLoggerName()::startsWith);
    }

    private void error(String text) {
        if (errors.size() < KEPT) {
            errors.add(text);
        }
    }

    /** The first errors. */
    List<String> errors() {
        return List.copyOf(errors);
    }

    /** How many lines there were that are no errors. */
    long warnings() {
        return warnings.sum();
    }

    @Override
    public void close() {
        root.detachAppender(appender);
        appenders.forEach(root::addAppender);
        jdkRoot.removeHandler(handler);
        for (Handler each : jdkHandlers) {
            jdkRoot.addHandler(each);
        }
    }
}

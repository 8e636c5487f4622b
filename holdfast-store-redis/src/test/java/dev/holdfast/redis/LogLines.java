package dev.holdfast.redis;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** What a class writes into the log, from INFO on: level and message of each line. */
final class LogLines implements AutoCloseable {
    private final Logger logger;
    private final Level level;
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>() {
        @Override
        protected void append(ILoggingEvent line) {
            lines.add(line.getLevel() + " " + line.getFormattedMessage());
        }
    };

    LogLines(Class<?> writer) {
        logger = (Logger) LoggerFactory.getLogger(writer);
        level = logger.getLevel();
        log.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(log);
    }

    List<String> all() {
        return lines;
    }

    @Override
    public void close() {
        logger.detachAppender(log);
        logger.setLevel(level);
    }
}

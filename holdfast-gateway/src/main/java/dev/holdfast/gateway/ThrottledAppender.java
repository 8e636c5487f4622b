package dev.holdfast.gateway;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxy;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import ch.qos.logback.core.spi.AppenderAttachable;
import ch.qos.logback.core.spi.AppenderAttachableImpl;
import dev.holdfast.LogThrottle;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Stands before the appenders of the log, since whoever can reach the port can make the HTTP server write lines. Of each logger of a
 * library, ten lines are written in ten seconds. Our own warnings and errors are limited by their format, to twice what the places
 * that foresee a flood let through; what we say below a warning, those places bound themselves. Public for logback, which makes it.
 */
public final class ThrottledAppender extends UnsynchronizedAppenderBase<ILoggingEvent>
        implements AppenderAttachable<ILoggingEvent> {
    private static final String OURS = "dev.holdfast.";
    private static final int MOST = 10;
    private static final int MOST_OF_OURS = 20;

    private final AppenderAttachableImpl<ILoggingEvent> next = new AppenderAttachableImpl<>();
    /** By logger, and for our own loggers by format too: both are finite. */
    private final Map<String, LogThrottle> throttles = new ConcurrentHashMap<>();

    private final LongSupplier clock;

    /** An appender that passes on to those that are attached to it. */
    public ThrottledAppender() {
        this(System::nanoTime);
    }

    ThrottledAppender(LongSupplier clock) {
        this.clock = clock;
    }

    @Override
    protected void append(ILoggingEvent event) {
        boolean ours = event.getLoggerName().startsWith(OURS);
        if (ours && !event.getLevel().isGreaterOrEqual(Level.WARN)) {
            next.appendLoopOnAppenders(event);
            return;
        }
        String kind = event.getLevel() + event.getLoggerName() + (ours ? event.getMessage() : "");
        throttles
                .computeIfAbsent(kind, first -> new LogThrottle(ours ? MOST_OF_OURS : MOST, clock))
                .write(more -> next.appendLoopOnAppenders(more.isEmpty() ? event : longer(event, more)));
    }

    /** The same event with some words at the end of its message. */
    private ILoggingEvent longer(ILoggingEvent event, String words) {
        LoggingEvent longer = new LoggingEvent(
                ThrottledAppender.class.getName(),
                ((LoggerContext) getContext()).getLogger(event.getLoggerName()),
                event.getLevel(),
                event.getFormattedMessage() + words,
                event.getThrowableProxy() instanceof ThrowableProxy proxy ? proxy.getThrowable() : null,
                null);
        longer.setThreadName(event.getThreadName());
        longer.setInstant(event.getInstant());
        return longer;
    }

    @Override
    public void addAppender(Appender<ILoggingEvent> appender) {
        next.addAppender(appender);
    }

    @Override
    public Iterator<Appender<ILoggingEvent>> iteratorForAppenders() {
        return next.iteratorForAppenders();
    }

    @Override
    public Appender<ILoggingEvent> getAppender(String name) {
        return next.getAppender(name);
    }

    @Override
    public boolean isAttached(Appender<ILoggingEvent> appender) {
        return next.isAttached(appender);
    }

    @Override
    public void detachAndStopAllAppenders() {
        next.detachAndStopAllAppenders();
    }

    @Override
    public boolean detachAppender(Appender<ILoggingEvent> appender) {
        return next.detachAppender(appender);
    }

    @Override
    public boolean detachAppender(String name) {
        return next.detachAppender(name);
    }
}

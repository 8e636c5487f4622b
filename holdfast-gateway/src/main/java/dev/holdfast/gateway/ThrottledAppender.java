package dev.holdfast.gateway;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxy;
import ch.qos.logback.core.ConsoleAppender;
import dev.holdfast.LogThrottle;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * The log on standard error, with a throttle, since whoever can reach the port can make the HTTP server log. In ten seconds it writes ten
 * lines of each logger of a library, and twenty of each format of our own warnings and errors, which is twice what our own throttles let
 * through. Our lines below WARN are bounded where they are logged. Public for logback, which makes it.
 */
public class ThrottledAppender extends ConsoleAppender<ILoggingEvent> {
    private static final String OURS = "dev.holdfast.";
    private static final int MOST = 10;
    private static final int MOST_OF_OURS = 20;

    /** By logger, and for our own loggers by format too: both are finite. */
    private final Map<String, LogThrottle> throttles = new ConcurrentHashMap<>();

    private final LongSupplier clock;

    /** An appender with the clock of the machine. */
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
            write(event);
            return;
        }
        String kind = event.getLevel() + event.getLoggerName() + (ours ? event.getMessage() : "");
        throttles
                .computeIfAbsent(kind, first -> new LogThrottle(ours ? MOST_OF_OURS : MOST, clock))
                .write(more -> write(more.isEmpty() ? event : longer(event, more)));
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

    /** Writes an event that the throttles let through. */
    void write(ILoggingEvent event) {
        super.append(event);
    }
}

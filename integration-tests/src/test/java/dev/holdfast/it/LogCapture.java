package dev.holdfast.it;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import org.slf4j.LoggerFactory;

/**
 * What servers log while it is open, at INFO and above unless told: by Holdfast and the SDK, by Jetty, and by Tomcat. Clients of an
 * earlier test may still be at their end.
 */
final class LogCapture implements AutoCloseable {
    private static final String CLIENT_THREADS = "HttpClient-";

    private final List<Line> lines = new CopyOnWriteArrayList<>();
    private final List<Line> access = new CopyOnWriteArrayList<>();
    private final LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    private final Logger holdfast = context.getLogger("dev.holdfast");
    private final Logger sdk = context.getLogger("io.modelcontextprotocol");
    private final Logger jetty = context.getLogger("org.eclipse.jetty");
    private final Level sdkBefore = sdk.getLevel();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            if (!event.getThreadName().startsWith(CLIENT_THREADS)) {
                Line line = new Line(event.getLevel(), event.getFormattedMessage());
                lines.add(line);
                if (event.getLoggerName().equals("dev.holdfast.access")) {
                    access.add(line);
                }
            }
        }
    };
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            if (entry.getLevel().intValue() >= java.util.logging.Level.WARNING.intValue()) {
                lines.add(new Line(Level.WARN, entry.getLoggerName() + ": " + entry.getMessage()));
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    /** One line of the log. */
    record Line(Level level, String text) {}

    LogCapture() {
        this(Level.INFO);
    }

    /** Of Holdfast's own lines, those from a level on. */
    LogCapture(Level from) {
        appender.setContext(context);
        appender.start();
        for (Logger logger : List.of(holdfast, sdk, jetty)) {
            logger.addAppender(appender);
            logger.setAdditive(false);
        }
        holdfast.setLevel(from);
        sdk.setLevel(Level.WARN);
        java.util.logging.Logger.getLogger("").addHandler(handler);
    }

    /** Every line. */
    List<Line> lines() {
        return List.copyOf(lines);
    }

    /** The lines at WARN and above. */
    List<Line> complaints() {
        return lines.stream()
                .filter(line -> line.level.isGreaterOrEqual(Level.WARN))
                .filter(line -> !suspectsItself(line) && !tellsOfASlowMachine(line))
                .toList();
    }

    /** Tomcat takes a thread of its own pool for a leak that is still busy with a broken connection when it stops. */
    private static boolean suspectsItself(Line line) {
        return line.text.contains("appears to have started a thread named [http-nio-")
                || (line.text.contains("The thread [http-nio-")
                        && line.text.contains("is still processing a request that has yet to finish")
                        && !line.text.contains("dev.holdfast"));
    }

    /** Tomcat does where it waits for more than 100 ms for chance. */
    private static boolean tellsOfASlowMachine(Line line) {
        return line.text.contains("Creation of SecureRandom instance for session ID generation");
    }

    /** The lines at INFO, those apart that each session has. */
    List<Line> notes() {
        return lines.stream()
                .filter(line -> line.level.equals(Level.INFO) && !access.contains(line))
                .toList();
    }

    /** What the access log tells of a session, behind its name. */
    List<String> access(String sessionId) {
        String name = "session " + sessionId.substring(0, 8) + ": ";
        return access.stream()
                .filter(line -> line.text.startsWith(name))
                .map(line -> line.text.substring(name.length()))
                .toList();
    }

    @Override
    public void close() {
        for (Logger logger : List.of(holdfast, sdk, jetty)) {
            logger.detachAppender(appender);
            logger.setAdditive(true);
        }
        holdfast.setLevel(null);
        sdk.setLevel(sdkBefore);
        java.util.logging.Logger.getLogger("").removeHandler(handler);
    }
}

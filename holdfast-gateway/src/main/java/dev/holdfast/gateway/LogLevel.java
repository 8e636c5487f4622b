package dev.holdfast.gateway;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.Locale;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** How much the gateway logs. */
enum LogLevel {
    ERROR,
    WARN,
    INFO,
    DEBUG,
    TRACE;

    /**
     * Logs this much from now on. What is not of Holdfast speaks at WARN and above only: below, Lettuce shows the password of Redis, and
     * HTTP libraries the headers of requests.
     */
    void apply() {
        set("dev.holdfast", this);
        set(org.slf4j.Logger.ROOT_LOGGER_NAME, this == ERROR ? ERROR : WARN);
    }

    /** Tells this much of who called what. */
    void applyToAccess() {
        set("dev.holdfast.access", this);
    }

    private static void set(String name, LogLevel level) {
        if (LoggerFactory.getLogger(name) instanceof Logger logger) {
            logger.setLevel(Level.toLevel(level.name()));
        }
    }

    /** Reads a level. */
    static final class Converter implements ITypeConverter<LogLevel> {
        @Override
        public LogLevel convert(String text) {
            for (LogLevel level : values()) {
                if (level.name().equals(text.toUpperCase(Locale.ROOT))) {
                    return level;
                }
            }
            throw new TypeConversionException("'" + text + "' is none of error, warn, info, debug, trace");
        }
    }

    /** Reads how much is told of who called what, which has its lines at INFO and DEBUG. */
    static final class OfAccess implements ITypeConverter<LogLevel> {
        @Override
        public LogLevel convert(String text) {
            return switch (text.toLowerCase(Locale.ROOT)) {
                case "off" -> WARN;
                case "sessions" -> INFO;
                case "calls" -> DEBUG;
                default -> throw new TypeConversionException("'" + text + "' is none of off, sessions, calls");
            };
        }
    }
}

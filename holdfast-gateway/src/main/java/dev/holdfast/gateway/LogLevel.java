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

    /** Logs this much from now on; the libraries keep to what {@code logback.xml} says. */
    void apply() {
        if (LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME) instanceof Logger root) {
            root.setLevel(Level.toLevel(name()));
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
}

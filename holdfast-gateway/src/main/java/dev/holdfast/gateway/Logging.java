package dev.holdfast.gateway;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.Map;
import org.slf4j.LoggerFactory;

/** How much the gateway logs. */
final class Logging {
    private static final Map<String, String> ACCESS = Map.of("off", "warn", "sessions", "info", "calls", "debug");

    private Logging() {}

    /**
     * Sets the level of Holdfast. Libraries log at WARN and above only: below that, Lettuce logs the password of Redis, and HTTP libraries
     * the headers of requests.
     */
    static void level(String level) {
        set("dev.holdfast", level);
        set(Logger.ROOT_LOGGER_NAME, level.equals("error") ? "error" : "warn");
    }

    /** Sets what of {@code off}, {@code sessions} and {@code calls} the access log has. */
    static void access(String what) {
        set("dev.holdfast.access", ACCESS.getOrDefault(what, "info"));
    }

    private static void set(String name, String level) {
        if (LoggerFactory.getLogger(name) instanceof Logger logger) {
            logger.setLevel(Level.toLevel(level));
        }
    }
}

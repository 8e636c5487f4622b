package dev.holdfast.gateway;

import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends the gateway in order when the process is told to end. */
final class Shutdown {
    private static final Logger log = LoggerFactory.getLogger(Shutdown.class);

    private Shutdown() {}

    /** Drains on SIGTERM and SIGINT, and exits with 0: the virtual machine itself would report the signal as a failure. */
    static void onSignal(Gateway gateway, Duration patience) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(gateway, patience), "holdfast-shutdown"));
    }

    private static void end(Gateway gateway, Duration patience) {
        int code = 0;
        try {
            gateway.stop(patience);
        } catch (RuntimeException e) {
            log.error("the shutdown failed", e);
            code = 1;
        }
        Runtime.getRuntime().halt(code);
    }
}

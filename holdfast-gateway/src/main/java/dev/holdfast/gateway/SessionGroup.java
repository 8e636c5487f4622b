package dev.holdfast.gateway;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The process group of a child that was started through {@code setsid}: its number is that of the child. It is signalled by the
 * shell's own {@code kill}, which every system has.
 */
final class SessionGroup implements ProcessGroup {
    private static final Logger log = LoggerFactory.getLogger(SessionGroup.class);
    private static final long PATIENCE_SECONDS = 5;

    private static final File NULL = new File("/dev/null");

    private final long id;

    SessionGroup(long id) {
        this.id = id;
    }

    @Override
    public void signal(Signal signal) {
        kill(signal.name());
    }

    @Override
    public boolean alive() {
        return kill("0") && ProcessTable.mayRun(id);
    }

    /** Sends a signal; false if there was nobody to take it. */
    private boolean kill(String signal) {
        try {
            Process kill = new ProcessBuilder("/bin/sh", "-c", "kill -s " + signal + " -- -" + id)
                    .redirectInput(Redirect.from(NULL))
                    .redirectOutput(Redirect.DISCARD)
                    .redirectError(Redirect.DISCARD)
                    .start();
            if (kill.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                return kill.exitValue() == 0;
            }
            kill.destroyForcibly();
        } catch (IOException e) {
            log.error("process group {}: no shell to send it a signal with", id, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return true;
    }
}

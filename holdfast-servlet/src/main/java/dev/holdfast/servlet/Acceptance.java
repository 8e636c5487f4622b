package dev.holdfast.servlet;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The 202 of a POST whose call is handed over: given when that is done, or, where a handler holds the thread meanwhile, after a
 * moment and by another thread. In the latter case it asks the client not to use the connection again, for what it would send
 * there waits until the handler returns, and may be the very answer that the handler waits for.
 */
final class Acceptance {
    private static final Logger log = LoggerFactory.getLogger(Acceptance.class);
    private static final long PATIENCE_MILLIS = 50;

    private final HttpServletResponse response;
    private final ReentrantLock touching = new ReentrantLock();
    private boolean given;

    private Acceptance(HttpServletResponse response) {
        this.response = response;
    }

    /** Hands over a call on this thread; when this returns, nobody else touches the response any more. */
    static void of(HttpServletResponse response, ConnectionClock clock, Runnable handOver) {
        Acceptance acceptance = new Acceptance(response);
        clock.acceptSoon(acceptance::giveEarly, PATIENCE_MILLIS);
        try {
            handOver.run();
        } finally {
            acceptance.give();
        }
    }

    private void give() {
        touching.lock();
        try {
            if (!given) {
                given = true;
                accept();
            }
        } finally {
            touching.unlock();
        }
    }

    private void giveEarly() {
        touching.lock();
        try {
            if (!given) {
                given = true;
                response.setHeader("Connection", "close");
                accept();
                response.flushBuffer();
            }
        } catch (IOException | RuntimeException e) {
            Faults.report(log, "an answer could not be written", e);
        } finally {
            touching.unlock();
        }
    }

    private void accept() {
        response.setStatus(HttpServletResponse.SC_ACCEPTED);
        response.setContentLength(0);
    }
}

package dev.holdfast.servlet.http;

import dev.holdfast.servlet.io.Faults;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The 202 of one POST: given when its call is handed over, or, where a handler holds the thread meanwhile, after a moment by
 * another thread. Then it asks the client not to use the connection again, if that is its own: what the client sent there would wait until the
 * handler returns, and may be the very answer that the handler waits for.
 */
final class Acceptance {
    private static final Logger log = LoggerFactory.getLogger(Acceptance.class);

    private final HttpServletResponse response;
    private final Answer answer;
    private final ReentrantLock touching = new ReentrantLock();
    private boolean given;

    Acceptance(Exchange exchange) {
        this.response = exchange.response();
        this.answer = exchange.answer();
    }

    /** Gives the answer if it was not given; when this returns, no other thread touches the response. */
    void give() {
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

    /** Gives the answer while the call's handler still holds the request's thread. */
    void giveEarly() {
        touching.lock();
        try {
            if (!given) {
                given = true;
                answer.lastOfConnection();
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

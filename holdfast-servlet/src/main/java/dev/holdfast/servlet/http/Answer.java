package dev.holdfast.servlet.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.body.RequestMemory;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The answer to one request, given once: a status, a JSON body, or a rejection, which is counted. */
public final class Answer {
    private static final Logger log = LoggerFactory.getLogger(Answer.class);

    private static final String JSON = "application/json;charset=utf-8";
    private static final String CONNECTION = "Connection";

    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final boolean multiplexed;
    private final SessionEngine engine;
    private final RequestMemory memory;

    Answer(ServletRequestHeaders request, HttpServletResponse response, SessionEngine engine, RequestMemory memory) {
        this.request = request.request();
        this.response = response;
        this.multiplexed = request.multiplexed();
        this.engine = engine;
        this.memory = memory;
    }

    /** Answers with a status and no body. */
    public void status(int status) {
        response.setStatus(status);
        response.setContentLength(0);
        end();
    }

    /** Answers with a JSON body. */
    public void json(int status, byte[] body) {
        response.setContentLength(body.length);
        write(status, JSON, body);
        end();
    }

    /** Answers with a stream of one message, which has no id: there is nothing to come back for. */
    void event(byte[] json) {
        String line = new String(json, UTF_8).replace('\r', ' ').replace('\n', ' ');
        byte[] event = ("event: message\ndata: " + line + "\n\n").getBytes(UTF_8);
        response.setContentLength(event.length);
        write(HttpServletResponse.SC_OK, Framing.EVENT_STREAM, event);
        end();
    }

    /** Answers what is not served. */
    public void reply(Rejection rejection) {
        begin(rejection);
        json(rejection.status(), rejection.body());
    }

    /** Tells a client that its session has ended. */
    public void reply(EndReason reason, Optional<RequestId> id) {
        Refusal refusal = reason.advice() == EndReason.Advice.RECONNECT ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION;
        reply(Rejection.of(refusal).to(id));
    }

    /** Answers a failure that must not happen: the log gets the whole failure, the client a neutral sentence. */
    public void fail(Optional<RequestId> id, Throwable failure) {
        log.error("a request failed", failure);
        json(500, JsonRpc.errorBody(id, JsonRpc.INTERNAL_ERROR, "internal error"));
    }

    /**
     * Sends a rejection to the client now and leaves the request open, so that the rest of its body can be read. The length is
     * set last: Tomcat reads no more of a request once that many bytes are written, and would reset the connection of a client
     * that still sends.
     */
    public void send(Rejection rejection) {
        begin(rejection);
        write(rejection.status(), JSON, rejection.body());
        try {
            // Jetty may write the body here already, so this can fail as a write does
            response.setContentLength(rejection.body().length);
            response.flushBuffer();
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be written: {}", e.toString());
        }
    }

    /** Answers with the status of a rejection alone: nothing is written here, so nothing blocks. */
    void abandon(Rejection rejection) {
        begin(rejection);
        status(rejection.status());
    }

    /** Ends the request, whatever was answered. */
    public void end() {
        memory.answered();
        try {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().complete();
            }
        } catch (IllegalStateException e) {
            log.debug("an answer was complete already: {}", e.toString());
        }
    }

    /** Keeps the request open after its thread has returned. */
    void defer() {
        if (!request.isAsyncStarted()) {
            AsyncContext async = request.startAsync(request, response);
            async.setTimeout(0);
        }
    }

    private void begin(Rejection rejection) {
        engine.refused(rejection.refusal(), rejection.detail());
        rejection.headers().forEach(this::header);
    }

    /** Asks the client not to use the connection again, where that is its own. */
    void lastOfConnection() {
        header(CONNECTION, "close");
    }

    /** Sets a header; but none of the connection where that carries other requests too: RFC 9113, 8.2.2 forbids it. */
    private void header(String name, String value) {
        if (!multiplexed || !name.equals(CONNECTION)) {
            response.setHeader(name, value);
        }
    }

    private void write(int status, String type, byte[] body) {
        try {
            response.setStatus(status);
            response.setHeader("Content-Type", type);
            response.setHeader("Cache-Control", "no-store");
            response.getOutputStream().write(body);
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be written: {}", e.toString());
        }
    }
}

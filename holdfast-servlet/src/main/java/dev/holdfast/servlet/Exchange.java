package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One HTTP request and its answer, which is given once: a status, a JSON body, or a stream. */
final class Exchange {
    static final int ACCEPTED = 202;

    /** The whole id is a credential. */
    private static final int SHOWN_OF_ID = 8;

    /** A session that was found so long ago may have left memory: it is looked for again. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final CompletionStage<Optional<Rejection>> USEFUL =
            CompletableFuture.completedFuture(Optional.empty());

    private static final Logger log = LoggerFactory.getLogger(Exchange.class);

    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final RequestHeaders headers;
    private final SessionEngine engine;
    private final EdgeOptions options;
    private final BodyReader bodies;
    private Object context = InboundMessage.NO_CONTEXT;
    private String principal = "";
    private Optional<Session> session = Optional.empty();
    private long foundAt;

    Exchange(
            HttpServletRequest request,
            HttpServletResponse response,
            SessionEngine engine,
            EdgeOptions options,
            BodyReader bodies) {
        this.request = request;
        this.response = response;
        this.engine = engine;
        this.options = options;
        this.bodies = bodies;
        this.headers = new ServletRequestHeaders(request);
    }

    HttpServletResponse response() {
        return response;
    }

    RequestHeaders headers() {
        return headers;
    }

    /** The page that asks, if it is one in a browser. */
    Optional<String> origin() {
        return headers.header("Origin").map(String::trim);
    }

    /** Whether a browser wants to know what a page may ask here. */
    boolean preflight() {
        return headers.method().equals("OPTIONS") && origin().isPresent();
    }

    /** Tells a browser what a page may ask here. */
    void allow(String methods) {
        Cors.letAsk(response, headers, methods);
        status(HttpServletResponse.SC_NO_CONTENT);
    }

    /** Learns who asks. */
    Authenticator.Answer identify(Authenticator authenticator) {
        Authenticator.Answer answer = authenticator.authenticate(request);
        if (answer instanceof Authenticator.Known known) {
            principal = known.principal();
        }
        return answer;
    }

    /** Who asks; empty for nobody in particular, and until {@link #identify} has learned it. */
    String principal() {
        return principal;
    }

    /** Takes what the backend gets to see of this request; on the request's own thread, before the body is read on any other. */
    void takeContext() {
        context = options.context().apply(request);
    }

    /** A parameter of the query. */
    Optional<String> parameter(String name) {
        try {
            return Optional.ofNullable(request.getParameter(name)).filter(value -> !value.isEmpty());
        } catch (RuntimeException e) {
            log.debug("a query could not be read: {}", e.toString());
            return Optional.empty();
        }
    }

    /** What stands in the path before its known end, as a client wrote it. */
    String pathBefore(String end) {
        String path = request.getRequestURI();
        return path.endsWith(end) ? path.substring(0, path.length() - end.length()) : request.getContextPath();
    }

    /** What the backend gets to see of this request. */
    Object context() {
        return context;
    }

    private Optional<String> sessionId() {
        return headers.header("Mcp-Session-Id").map(String::trim).filter(id -> !id.isEmpty());
    }

    /** Why no message of this request can be for the session that it names, if it names one. */
    CompletionStage<Optional<Rejection>> checkSession() {
        Optional<String> id = sessionId();
        if (id.isEmpty()) {
            return USEFUL;
        }
        return engine.find(id.get(), principal).thenApply(finding -> {
            session = session(finding);
            foundAt = engine.clock().getAsLong();
            return session.isPresent() ? Optional.empty() : Optional.of(absent(finding, id.get()));
        });
    }

    /** Those whose calls have streams of their own. */
    private static Optional<Session> session(Finding finding) {
        return finding instanceof Found found && !found.session().listensOnly()
                ? Optional.of(found.session())
                : Optional.empty();
    }

    /**
     * Finds the session of this request, of those whose calls have streams of their own, and goes on with it; if there is none,
     * the request is answered.
     */
    void session(Optional<RequestId> message, Consumer<Session> then) {
        Optional<String> id = sessionId();
        if (id.isEmpty()) {
            reply(Rejection.malformed("the Mcp-Session-Id header is missing").to(message));
        } else if (session.isPresent() && engine.clock().getAsLong() - foundAt < FRESH_NANOS) {
            then.accept(session.get());
        } else {
            when(
                    engine.find(id.get(), principal),
                    message,
                    finding -> session(finding)
                            .ifPresentOrElse(
                                    then, () -> reply(absent(finding, id.get()).to(message))));
        }
    }

    /** What there is to say of a session that was not found. */
    Rejection absent(Finding finding, String id) {
        return finding instanceof SessionEngine.Unavailable unavailable
                ? Rejection.of(unavailable.reason())
                : unknown(id);
    }

    /** What there is to say of a session that is not there. */
    Rejection unknown(String id) {
        Refusal refusal = engine.draining() ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION;
        String start = id.substring(0, Math.min(id.length(), SHOWN_OF_ID));
        return Rejection.of(refusal).because(refusal.text() + ": session " + Rejection.quote(start));
    }

    /** Reads the body, and has it handled on whatever thread it has arrived. */
    void read(Consumer<byte[]> handler) {
        try {
            bodies.read(request, response, new AwaitedBody(this, handler));
        } catch (IOException e) {
            brokeOff(e);
        }
    }

    /** Whoever asks has gone while we read. */
    private void brokeOff(IOException e) {
        Faults.report(log, "a request could not be read", e);
        reply(Rejection.brokenBody());
    }

    /**
     * Goes on when a stage is complete: at once if it is, else on a thread of the container, since what follows may run a handler
     * and the thread that completes the stage belongs to somebody else.
     */
    <T> void when(CompletionStage<T> stage, Optional<RequestId> id, Consumer<T> then) {
        if (stage.toCompletableFuture().isDone()) {
            stage.whenComplete((value, failure) -> proceed(value, failure, id, then));
            return;
        }
        defer();
        stage.whenComplete((value, failure) -> onContainerThread(() -> proceed(value, failure, id, then)));
    }

    private void onContainerThread(Runnable task) {
        try {
            request.getAsyncContext().start(task);
        } catch (RejectedExecutionException e) {
            reply(Rejection.of(Refusal.DRAINING));
        } catch (RuntimeException e) {
            Faults.report(log, "a request could not go on", e);
        }
    }

    private <T> void proceed(T value, @Nullable Throwable failure, Optional<RequestId> id, Consumer<T> then) {
        if (failure == null) {
            guarded(id, () -> then.accept(value));
        } else if (unavailable(failure)) {
            reply(Rejection.of(Refusal.STORE).to(id));
        } else {
            fail(id, failure);
        }
    }

    private void guarded(Optional<RequestId> id, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            fail(id, e);
        }
    }

    private static boolean unavailable(Throwable failure) {
        return failure instanceof StoreUnavailableException || failure.getCause() instanceof StoreUnavailableException;
    }

    /** Keeps the request open beyond its thread's visit. */
    private void defer() {
        if (!request.isAsyncStarted()) {
            AsyncContext async = request.startAsync(request, response);
            async.setTimeout(0);
        }
    }

    /** Answers what is not served, and counts it. */
    void reply(Rejection rejection) {
        answer(rejection);
        end();
    }

    /** The same for a request whose body nobody has read, and nobody will. */
    void turnAway(Rejection rejection) {
        try {
            if (bodies.unread(request)) {
                BodyTaker nobody = new AwaitedBody(this, body -> {});
                nobody.refuse(rejection.with("Connection", "close"));
                bodies.forget(request, response, nobody);
            } else {
                reply(rejection);
            }
        } catch (IOException e) {
            brokeOff(e);
        }
    }

    /** Writes what is not served, counts it, and leaves the request open. */
    void answer(Rejection rejection) {
        begin(rejection);
        write(rejection.status(), rejection.body());
    }

    /** The same without words: nothing is written here, so that nothing blocks. */
    void abandon(Rejection rejection) {
        begin(rejection);
        status(rejection.status());
    }

    private void begin(Rejection rejection) {
        engine.refused(rejection.refusal(), rejection.detail());
        rejection.headers().forEach(response::setHeader);
    }

    /** Has the client read its answer now. */
    void push() {
        try {
            response.flushBuffer();
        } catch (IOException | RuntimeException e) {
            Faults.report(log, "an answer could not be written", e);
        }
    }

    /** Maps the end of a session to the answer for its client. */
    void reply(EndReason reason, Optional<RequestId> id) {
        Refusal refusal = reason.advice() == EndReason.Advice.RECONNECT ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION;
        reply(Rejection.of(refusal).to(id));
    }

    /** Something that must not happen has happened: the log gets all of it, the client nothing. */
    void fail(Optional<RequestId> id, Throwable failure) {
        log.error("a request failed", failure);
        json(500, JsonRpc.errorBody(id, JsonRpc.INTERNAL_ERROR, "internal error"));
    }

    void json(int status, byte[] body) {
        write(status, body);
        end();
    }

    private void write(int status, byte[] body) {
        try {
            response.setStatus(status);
            response.setHeader("Content-Type", "application/json");
            response.setHeader("Cache-Control", "no-store");
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be written: {}", e.toString());
        }
    }

    /** Hands a call to the backend, and answers its POST that this is done. */
    void accept(Call call, ConnectionClock clock) {
        try {
            Acceptance.of(response, clock, call::dispatch);
        } finally {
            end();
        }
    }

    void status(int status) {
        response.setStatus(status);
        response.setContentLength(0);
        end();
    }

    void end() {
        try {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().complete();
            }
        } catch (IllegalStateException e) {
            log.debug("an answer was complete already: {}", e.toString());
        }
    }

    /** Turns the answer into a stream, not yet started; without one if the client is gone already, and the reader is closed. */
    Optional<SseConnection> stream(SseSource source, ConnectionClock clock) {
        Optional<SseConnection> opened = Optional.empty();
        try {
            ServletSseChannel channel = ServletSseChannel.open(request, response, options.connectionReset());
            SseConnection connection = new SseConnection(channel, source, clock);
            opened = Optional.of(connection);
            channel.listen(connection);
            connection.open();
            return opened;
        } catch (IOException | RuntimeException e) {
            Faults.report(log, "a connection broke before its response began", e);
            opened.ifPresent(clock::remove);
            source.reader().close(StreamReader.Close.BROKEN);
            end();
            return Optional.empty();
        }
    }
}

package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.SessionEngine;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One HTTP request and its answer, which is given once: a status, a JSON body, or a stream. */
final class Exchange {
    static final int ACCEPTED = 202;

    private static final Logger log = LoggerFactory.getLogger(Exchange.class);

    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final RequestHeaders headers;
    private final SessionEngine engine;
    private final EdgeOptions options;
    private final BodyReader bodies;
    private final SessionLookup lookup;
    private Object context = InboundMessage.NO_CONTEXT;
    private String principal = "";

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
        this.lookup = new SessionLookup(this, engine);
    }

    HttpServletResponse response() {
        return response;
    }

    RequestHeaders headers() {
        return headers;
    }

    /** The way to the session that this request is for. */
    SessionLookup lookup() {
        return lookup;
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

    /** Goes on when a stage is complete, with what is of no use once the client has left. */
    <T> void when(CompletionStage<T> stage, Optional<RequestId> id, Consumer<T> then) {
        when(stage, id, then, value -> false);
    }

    /**
     * Goes on when a stage is complete: at once if it is, else on a thread of the container, since what follows may run a handler
     * and the thread that completes the stage belongs to somebody else.
     *
     * @param orphaned takes the value where the client has left meanwhile, or the container has no thread for it, and returns
     *     whether it goes on without
     */
    <T> void when(CompletionStage<T> stage, Optional<RequestId> id, Consumer<T> then, Predicate<T> orphaned) {
        if (stage.toCompletableFuture().isDone()) {
            stage.whenComplete((value, failure) -> proceed(value, failure, id, then));
            return;
        }
        defer();
        stage.whenComplete((value, failure) -> {
            Optional<Throwable> left = onContainerThread(() -> proceed(value, failure, id, then));
            left.ifPresent(fault -> guarded(id, () -> {
                boolean goesOn = failure == null && orphaned.test(value);
                if (fault instanceof RejectedExecutionException && !goesOn) {
                    reply(Rejection.of(Refusal.DRAINING).to(id));
                } else if (fault instanceof IllegalStateException) {
                    log.debug("a client has left: {}", fault.toString());
                } else {
                    fail(id, fault);
                }
            }));
        });
    }

    /** Goes on when a reader is attached, or cannot be; a reader whose client has left meanwhile is closed. */
    void whenAttached(CompletionStage<Resume> stage, Consumer<Resume> then) {
        when(stage, Optional.empty(), then, resume -> {
            if (resume instanceof Resume.Resumed resumed) {
                resumed.reader().close(StreamReader.Close.BROKEN);
            } else if (resume instanceof Resume.Gap gap) {
                gap.reader().close(StreamReader.Close.BROKEN);
            }
            return false;
        });
    }

    /** Returns why there is no thread, if there is none. */
    private Optional<Throwable> onContainerThread(Runnable task) {
        try {
            request.getAsyncContext().start(task);
            return Optional.empty();
        } catch (Throwable e) {
            return Optional.of(e);
        }
    }

    private <T> void proceed(T value, @Nullable Throwable failure, Optional<RequestId> id, Consumer<T> then) {
        if (failure == null) {
            guarded(id, () -> then.accept(value));
        } else if (unavailable(failure)) {
            guarded(id, () -> reply(Rejection.of(Refusal.STORE).to(id)));
        } else {
            fail(id, failure);
        }
    }

    /** Whatever goes wrong, the request is answered: nobody else would do so. */
    private void guarded(Optional<RequestId> id, Runnable action) {
        try {
            action.run();
        } catch (Throwable e) {
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
        begin(rejection);
        json(rejection.status(), rejection.body());
    }

    /**
     * The same for a request whose body nobody has read, and nobody will. It is the last of its connection: a stranger who sends
     * one behind the other, and reads none of the answers, would hold a thread.
     */
    void turnAway(Rejection rejection) {
        Rejection last = rejection.with("Connection", "close");
        try {
            if (bodies.unread(request)) {
                BodyTaker nobody = new AwaitedBody(this, body -> {});
                nobody.refuse(last);
                bodies.forget(request, response, nobody);
            } else {
                reply(last);
            }
        } catch (IOException e) {
            brokeOff(e);
        }
    }

    /**
     * Writes what is not served, counts it, and leaves the request open. The length comes last: Tomcat lets nobody read on once
     * it has seen that many bytes written, and would close on a client that still sends.
     */
    void answer(Rejection rejection) {
        begin(rejection);
        write(rejection.status(), rejection.body());
        response.setContentLength(rejection.body().length);
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
        response.setContentLength(body.length);
        write(status, body);
        end();
    }

    private void write(int status, byte[] body) {
        try {
            response.setStatus(status);
            response.setHeader("Content-Type", "application/json");
            response.setHeader("Cache-Control", "no-store");
            response.getOutputStream().write(body);
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be written: {}", e.toString());
        }
    }

    /** Hands a call to the backend, and answers its POST that this is done. */
    void accept(Call call, ConnectionClock clock) {
        try {
            Acceptance.of(response, clock, call::dispatch);
        } catch (Throwable e) {
            log.error("a call could not be handed over", e);
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

    /** Turns the answer into a stream, not yet started; without one if that fails, and the reader is closed. */
    Optional<SseConnection> stream(
            StreamReader reader, Function<StreamReader, SseSource> source, ConnectionClock clock) {
        Optional<SseConnection> opened = Optional.empty();
        try {
            ServletSseChannel channel = ServletSseChannel.open(request, response, options.connectionReset());
            SseConnection connection = new SseConnection(channel, source.apply(reader), clock);
            opened = Optional.of(connection);
            channel.listen(connection);
            connection.open();
            return opened;
        } catch (Throwable e) {
            if (opened.isPresent()) {
                // others may write to it by now
                Faults.report(log, "a connection broke before its response began", e);
                opened.get().abort();
                return Optional.empty();
            }
            reader.close(StreamReader.Close.BROKEN);
            if (e instanceof IOException || e instanceof IllegalStateException) {
                Faults.report(log, "a connection broke before its response began", e);
                end();
            } else {
                fail(Optional.empty(), e);
            }
            return Optional.empty();
        }
    }
}

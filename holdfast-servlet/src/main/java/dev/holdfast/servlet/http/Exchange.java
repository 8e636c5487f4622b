package dev.holdfast.servlet.http;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Accept;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestHeaders;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.servlet.sse.SseFraming;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One HTTP request and its one answer: what the request says, how its handling goes on when a stage completes, and the status, JSON body or
 * rejection that ends it. Whatever fails on the way, the request is answered.
 */
public final class Exchange {
    private static final Logger log = LoggerFactory.getLogger(Exchange.class);
    private static final String JSON = "application/json;charset=utf-8";
    private static final String CONNECTION = "Connection";

    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final BiConsumer<Refusal, String> refusals;
    final RequestBodies bodies;
    private final RequestBody body;
    /** Whether the request stays on the thread that handles it, which waits for what is not there yet. */
    private boolean stays;

    private Object context = InboundMessage.NO_CONTEXT;
    private String principal = "";
    private OptionalLong validUntil = OptionalLong.empty();
    private Accept accept = Accept.BOTH;
    private Optional<RequestId> id = Optional.empty();
    /** Takes the body when it has arrived; not kept longer, for it may keep what the body holds. */
    private Function<byte[], NextStep> awaiting = Exchange::nothing;

    /**
     * The exchange of a request.
     *
     * @param refusals counts the rejections, each with more about it for the log
     */
    public Exchange(
            HttpServletRequest request,
            HttpServletResponse response,
            RequestBodies bodies,
            BiConsumer<Refusal, String> refusals) {
        this.request = request;
        this.response = response;
        this.bodies = bodies;
        this.refusals = refusals;
        this.body = new RequestBody(bodies);
    }

    /** The request as the container has it. */
    public HttpServletRequest request() {
        return request;
    }

    /** The response as the container has it, for its headers. */
    public HttpServletResponse response() {
        return response;
    }

    /** The body of the request, and the memory that the request takes. */
    public RequestBody body() {
        return body;
    }

    /** The principal that asks; empty for nobody in particular. */
    public String principal() {
        return principal;
    }

    /** Notes who asks. */
    public void principal(String known) {
        principal = known;
        body.principal(known);
    }

    /** Notes until when the principal may listen, in nanoseconds of the engine's clock. */
    public void validUntil(long nanos) {
        validUntil = OptionalLong.of(nanos);
    }

    /** Until when the principal may listen; empty for ever. */
    public OptionalLong validUntil() {
        return validUntil;
    }

    /** Notes which forms of an answer the client takes. */
    public void accept(Accept said) {
        accept = said;
    }

    /** Which forms of an answer the client takes. */
    public Accept accept() {
        return accept;
    }

    /** Notes the id of the message in the body, if it has one: what is answered from here on carries it. */
    public void about(Optional<RequestId> message) {
        id = message;
    }

    /** Notes what the backend sees of this request; it is taken on the request's own thread, before its body is read on another. */
    public void context(Object seen) {
        context = seen;
    }

    /** What the backend sees of this request. */
    public Object context() {
        return context;
    }

    /** A parameter of the query that is not empty. */
    public static Optional<String> parameter(HttpServletRequest request, String name) {
        try {
            return Optional.ofNullable(request.getParameter(name)).filter(value -> !value.isEmpty());
        } catch (RuntimeException e) {
            log.debug("a query could not be read: {}", e.toString());
            return Optional.empty();
        }
    }

    /** The path of a request as the client wrote it, but without a slash at its end: with one it is the same. */
    public static String path(HttpServletRequest request) {
        String path = request.getRequestURI();
        return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    }

    /**
     * Sets whether the request stays on the thread that handles it, which then waits for its body and for stages; by default another thread
     * goes on. A backend that executes immediately is called on the request's thread. The engine bounds how long a stage takes: a store
     * that fails, a backend that does not come, and a session that ends complete it.
     */
    public void staysOnThread(boolean wanted) {
        stays = wanted;
    }

    /** Does one step after the other, until the request is answered or waits. */
    public void follow(NextStep step) {
        try {
            // a step that is done is let go of, with what it holds
            while (step != NextStep.DONE) {
                step = step.next();
            }
        } catch (Throwable e) {
            fail(e);
        }
    }

    /** Goes on when a stage is complete; its value is dropped if the client has left. */
    public <T> NextStep when(CompletionStage<T> stage, Function<T, NextStep> then) {
        return when(stage, then, value -> false);
    }

    /**
     * Goes on when a stage is complete: on this thread if it is or the request stays, else on a thread of the container, for what follows
     * may run a handler, and the stage may be completed by a thread of the store or the engine.
     *
     * @param then takes the value, and returns the next step
     * @param orphaned takes the value where the client has left meanwhile or the container has no thread, and returns whether the
     *     work goes on without the request
     */
    public <T> NextStep when(CompletionStage<T> stage, Function<T, NextStep> then, Predicate<T> orphaned) {
        CompletableFuture<T> future = stage.toCompletableFuture();
        if (stays && !future.isDone()) {
            // how it ended is for whoever goes on with it
            future.handle((value, failure) -> true).join();
        }
        if (future.isDone()) {
            return future.isCompletedExceptionally()
                    ? failed(future.<Throwable>handle((value, failure) -> failure)
                            .join())
                    : () -> then.apply(future.join());
        }
        defer();
        future.whenComplete((value, failure) -> {
            try {
                NextStep resumed = failure == null ? () -> then.apply(value) : () -> failed(failure);
                request.getAsyncContext().start(() -> follow(resumed));
            } catch (Throwable fault) {
                withoutThread(orphaned, value, failure, fault);
            }
        });
        return NextStep.DONE;
    }

    private NextStep failed(Throwable failure) {
        if (failure instanceof StoreUnavailableException || failure.getCause() instanceof StoreUnavailableException) {
            return reply(Rejection.of(Refusal.STORE));
        }
        fail(failure);
        return NextStep.DONE;
    }

    private <T> void withoutThread(Predicate<T> orphaned, T value, @Nullable Throwable failure, Throwable fault) {
        try {
            boolean goesOn = failure == null && orphaned.test(value);
            if (fault instanceof RejectedExecutionException && !goesOn) {
                reply(Rejection.of(Refusal.DRAINING));
            } else if (fault instanceof IllegalStateException) {
                log.debug("a client has left: {}", fault.toString());
            } else {
                fail(fault);
            }
        } catch (Throwable e) {
            fail(e);
        } finally {
            body.answered();
        }
    }

    /** Goes on when a reader is attached, or cannot be; a reader whose client has left meanwhile is closed. */
    public NextStep whenAttached(CompletionStage<Resume> stage, Function<Resume, NextStep> then) {
        return when(stage, then, resume -> {
            resume.attached().ifPresent(reader -> reader.close(StreamReader.Close.BROKEN));
            return false;
        });
    }

    /** Hands a call to its backend, on this thread if the request stays on it. */
    public void dispatch(Call call) {
        try {
            if (stays) {
                CompletableFuture<Runnable> backend = new CompletableFuture<>();
                call.dispatch(backend::complete);
                backend.join().run();
            } else {
                call.dispatch(Runnable::run);
            }
        } finally {
            body.answered();
        }
    }

    /**
     * Runs something once when the request is over: now, unless it goes on asynchronously. On the thread that handles the request, when
     * it has done all that it does there.
     */
    public void whenOver(Runnable task) {
        try {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().addListener(new Completion(task));
                return;
            }
        } catch (IllegalStateException e) {
            log.debug("a request was over before its end could be heard: {}", e.toString());
        }
        task.run();
    }

    /** Runs something when a request is over: what has timed out or failed is completed after that. */
    private record Completion(Runnable task) implements AsyncListener {
        @Override
        public void onComplete(AsyncEvent event) {
            task.run();
        }

        @Override
        public void onTimeout(AsyncEvent event) {}

        @Override
        public void onError(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {
            event.getAsyncContext().addListener(this);
        }
    }

    /** Keeps the request open after its thread has returned. */
    void defer() {
        if (!request.isAsyncStarted()) {
            AsyncContext async = request.startAsync(request, response);
            async.setTimeout(0);
        }
    }

    /** Goes on with the body, on the thread on which its last byte arrives, unless the request stays on its own. */
    public NextStep read(Function<byte[], NextStep> then) {
        awaiting = then;
        try {
            Optional<byte[]> whole = body.read(this, request, stays);
            if (whole.isEmpty()) {
                return NextStep.DONE;
            }
            awaiting = Exchange::nothing;
            return then.apply(whole.get());
        } catch (IOException e) {
            return brokeOff(e);
        }
    }

    private static NextStep nothing(byte[] unused) {
        return NextStep.DONE;
    }

    /** The body that was waited for has arrived completely. */
    void arrived(byte[] whole) {
        Function<byte[], NextStep> then = awaiting;
        awaiting = Exchange::nothing;
        follow(() -> then.apply(whole));
    }

    /**
     * Rejects a request whose body is not read. It is the last of its connection: a client that sends such requests one behind
     * the other, and reads none of the answers, would hold a thread.
     */
    public NextStep turnAway(Rejection rejection) {
        Rejection last = rejection.with(CONNECTION, "close");
        try {
            if (!body.unread(request)) {
                return reply(last);
            }
            send(last);
            body.forget(this);
            return NextStep.DONE;
        } catch (IOException e) {
            return brokeOff(e);
        }
    }

    private NextStep brokeOff(IOException e) {
        Faults.report(log, "a request could not be read", e);
        return reply(Rejection.brokenBody());
    }

    /** Answers with a rejection of the request in the body, if that is known and the rejection names no other. */
    public NextStep reply(Rejection rejection) {
        byte[] json = begin(rejection);
        return json(rejection.status(), json);
    }

    /** Tells a client that its session has ended. */
    public NextStep reply(EndReason reason) {
        return reply(Rejection.of(
                reason.advice() == EndReason.Advice.RECONNECT ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION));
    }

    /** Answers with a message: as JSON, but to a client that takes only a stream as its one event. */
    public NextStep message(byte[] json) {
        return answer(HttpServletResponse.SC_OK, messageType(), messageText(json));
    }

    private String messageType() {
        return accept == Accept.EVENT_STREAM ? SseFraming.EVENT_STREAM : JSON;
    }

    /** An event has no id: there is nothing to come back for. */
    private byte[] messageText(byte[] json) {
        return accept == Accept.EVENT_STREAM ? SseFraming.body(json) : json;
    }

    /** Answers with a status and no body. */
    public NextStep status(int status) {
        response.setStatus(status);
        response.setContentLength(0);
        end();
        return NextStep.DONE;
    }

    /** Answers with a JSON body. */
    public NextStep json(int status, byte[] json) {
        return answer(status, JSON, json);
    }

    private NextStep answer(int status, String type, byte[] text) {
        response.setContentLength(text.length);
        write(status, type, text);
        end();
        return NextStep.DONE;
    }

    /** Answers a failure that must not happen: the log gets the whole failure, the client a neutral sentence. */
    public void fail(Throwable failure) {
        log.error("a request failed", failure);
        json(500, JsonRpc.errorBody(id, JsonRpc.INTERNAL_ERROR, "internal error"));
    }

    /**
     * Sends a rejection to the client now and leaves the request open, so that the rest of its body can be read; may block for a moment.
     * The length is set last: Tomcat reads no more of a request once that many bytes are written, and would reset the connection of a
     * client that still sends.
     */
    public void send(Rejection rejection) {
        byte[] json = begin(rejection);
        send(rejection.status(), JSON, json);
    }

    /** The same for a message, instead of what was to be answered. */
    public void send(byte[] json) {
        send(HttpServletResponse.SC_OK, messageType(), messageText(json));
    }

    private void send(int status, String type, byte[] text) {
        write(status, type, text);
        try {
            // Jetty may write the body here already, so this can fail as a write does
            response.setContentLength(text.length);
            response.flushBuffer();
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be written: {}", e.toString());
        }
    }

    /** Answers with the status of a rejection alone: nothing is written here, so nothing blocks. */
    void abandon(Rejection rejection) {
        byte[] unused = begin(rejection);
        status(rejection.status());
    }

    /** Ends the request, whatever was answered. */
    public void end() {
        body.answered();
        try {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().complete();
            }
        } catch (IllegalStateException e) {
            log.debug("an answer was complete already: {}", e.toString());
        }
    }

    /** Counts a rejection and sets its headers; returns its body. */
    private byte[] begin(Rejection rejection) {
        refusals.accept(rejection.refusal(), rejection.detail());
        rejection.headers().forEach(this::header);
        return (rejection.id().isPresent() ? rejection : rejection.to(id)).body();
    }

    /** Asks the client not to use the connection again, where that is its own. */
    public void lastOfConnection() {
        header(CONNECTION, "close");
    }

    /** Sets a header; but none of the connection where that carries other requests too: RFC 9113, 8.2.2 forbids it. */
    private void header(String name, String value) {
        if (!name.equals(CONNECTION) || !RequestHeaders.multiplexed(request)) {
            response.setHeader(name, value);
        }
    }

    private void write(int status, String type, byte[] text) {
        try {
            response.setStatus(status);
            response.setHeader("Content-Type", type);
            response.setHeader("Cache-Control", "no-store");
            response.getOutputStream().write(text);
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be written: {}", e.toString());
        }
    }
}

package dev.holdfast.servlet.http;

import dev.holdfast.Call;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.body.BodyReader;
import dev.holdfast.servlet.body.BodyTaker;
import dev.holdfast.servlet.body.RequestMemory;
import dev.holdfast.servlet.guard.Accept;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestHeaders;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One HTTP request: what it says, its {@link Answer}, and how its handling goes on when a stage completes. */
public final class Exchange {
    private static final Logger log = LoggerFactory.getLogger(Exchange.class);
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final ServletRequestHeaders headers;
    private final BodyReader bodies;
    private final RequestMemory memory;
    private final Answer answer;
    private RequestThread thread = RequestThread.LEAVES;
    private Object context = InboundMessage.NO_CONTEXT;
    private String principal = "";
    private Accept accept = Accept.BOTH;
    private Optional<Session> found = Optional.empty();
    private long foundAt;

    /** The exchange of a request whose answers are counted by an engine. */
    public Exchange(HttpServletRequest request, HttpServletResponse response, SessionEngine engine, BodyReader bodies) {
        this.request = request;
        this.response = response;
        this.bodies = bodies;
        this.headers = new ServletRequestHeaders(request);
        this.memory = bodies.memory();
        this.answer = new Answer(headers, response, engine, memory);
    }

    /** The request as the container has it. */
    public HttpServletRequest request() {
        return request;
    }

    /** The response as the container has it, for its headers. */
    public HttpServletResponse response() {
        return response;
    }

    /** The headers of the request. */
    public RequestHeaders headers() {
        return headers;
    }

    /** What the request takes of the memory for all. */
    public RequestMemory memory() {
        return memory;
    }

    /** The answer to the request. */
    public Answer answer() {
        return answer;
    }

    /** The origin of the page that asks, if a page in a browser asks. */
    public Optional<String> origin() {
        return headers.header("Origin").map(String::trim);
    }

    /** Whether a browser asks what a page may send here. */
    public boolean preflight() {
        return headers.method().equals("OPTIONS") && origin().isPresent();
    }

    /** The principal that asks; empty for nobody in particular. */
    public String principal() {
        return principal;
    }

    /** Notes who asks. */
    public void principal(String known) {
        principal = known;
        memory.principal(known);
    }

    /** Which forms of an answer the client takes. */
    public Accept accept() {
        return accept;
    }

    /** Notes which forms of an answer the client takes. */
    public void accept(Accept said) {
        accept = said;
    }

    /** Notes the session that was found for this request at a time. */
    public void found(Session session, long at) {
        found = Optional.of(session);
        foundAt = at;
    }

    /** The session that was found for this request, unless it was found so long ago that it may have left memory. */
    public Optional<Session> found(long now) {
        return now - foundAt < FRESH_NANOS ? found : Optional.empty();
    }

    /** Takes what the backend sees of this request; on the request's own thread, before its body is read on another. */
    public void takeContext(Function<HttpServletRequest, Object> from) {
        context = from.apply(request);
    }

    /** What the backend sees of this request. */
    public Object context() {
        return context;
    }

    /** A parameter of the query that is not empty. */
    public Optional<String> parameter(String name) {
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

    /** What stands in the path before its known end, as the client wrote it. */
    public String pathBefore(String end) {
        String path = path(request);
        return path.endsWith(end) ? path.substring(0, path.length() - end.length()) : request.getContextPath();
    }

    /**
     * Keeps the request on the thread that handles it: what is not there yet is waited for on this thread. Else another thread goes
     * on with the request.
     */
    public void stayOnThread() {
        thread = RequestThread.STAYS;
    }

    /** Lets another thread go on with the request where it waits, as is the case unless it {@linkplain #stayOnThread stays}. */
    public void leaveThread() {
        thread = RequestThread.LEAVES;
    }

    /** Hands a call to its backend, on this thread if the request stays on it. */
    public void dispatch(Call call) {
        try {
            thread.dispatch(call);
        } finally {
            memory.answered();
        }
    }

    /** Does one step after the other, until the request is answered or waits. Whatever fails, it is answered. */
    public void follow(Step first) {
        try {
            Step step = first;
            while (step != Step.DONE) {
                step = step.next();
            }
        } catch (Throwable e) {
            answer.fail(Optional.empty(), e);
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

    /** Runs something when a request is over. */
    private record Completion(Runnable task) implements AsyncListener {
        @Override
        public void onComplete(AsyncEvent event) {
            task.run();
        }

        @Override
        public void onTimeout(AsyncEvent event) {
            // it is completed after that
        }

        @Override
        public void onError(AsyncEvent event) {
            // it is completed after that
        }

        @Override
        public void onStartAsync(AsyncEvent event) {
            event.getAsyncContext().addListener(this);
        }
    }

    /** Answers with a rejection. */
    public Step reply(Rejection rejection) {
        answer.reply(rejection);
        return Step.DONE;
    }

    /** Answers with a message: as JSON, but to a client that takes only a stream as its one event. */
    public Step message(byte[] json) {
        if (accept == Accept.EVENT_STREAM) {
            answer.event(json);
        } else {
            answer.json(200, json);
        }
        return Step.DONE;
    }

    /** Answers with a status and no body. */
    public Step status(int status) {
        answer.status(status);
        return Step.DONE;
    }

    /** Goes on with the body; on whatever thread its last byte arrives, unless the request stays on its own. */
    public Step read(Function<byte[], Step> then) {
        try {
            Optional<byte[]> body = thread.read(bodies, request, response, new AwaitedBody(this, then));
            return body.isPresent() ? then.apply(body.get()) : Step.DONE;
        } catch (IOException e) {
            return brokeOff(e);
        }
    }

    /**
     * Rejects a request whose body is not read. It is the last of its connection: a client that sends such requests one behind
     * the other, and reads none of the answers, would hold a thread.
     */
    public Step turnAway(Rejection rejection) {
        Rejection last = rejection.with("Connection", "close");
        try {
            if (bodies.unread(request)) {
                BodyTaker nobody = new AwaitedBody(this, body -> Step.DONE);
                nobody.refuse(last);
                bodies.forget(request, response, nobody);
                return Step.DONE;
            }
            return reply(last);
        } catch (IOException e) {
            return brokeOff(e);
        }
    }

    private Step brokeOff(IOException e) {
        Faults.report(log, "a request could not be read", e);
        return reply(Rejection.brokenBody());
    }

    /** Goes on when a stage is complete; its value is dropped if the client has left. */
    public <T> Step when(CompletionStage<T> stage, Optional<RequestId> id, Function<T, Step> then) {
        return when(stage, id, then, value -> false);
    }

    /**
     * Goes on when a stage is complete: on this thread if it is or the request stays, else on a thread of the container.
     *
     * @param id the request in the body, if it is known, for an error response
     * @param then takes the value, and returns the next step
     * @param orphaned takes the value where the client has left or the container has no thread, and returns whether the work
     *     goes on without the request
     */
    public <T> Step when(
            CompletionStage<T> stage, Optional<RequestId> id, Function<T, Step> then, Predicate<T> orphaned) {
        return new Continuation<>(this, thread.await(stage), id, then, orphaned);
    }

    /** Goes on when a reader is attached, or cannot be; a reader whose client has left meanwhile is closed. */
    public Step whenAttached(CompletionStage<Resume> stage, Function<Resume, Step> then) {
        return when(stage, Optional.empty(), then, resume -> {
            if (resume instanceof Resume.Resumed resumed) {
                resumed.reader().close(StreamReader.Close.BROKEN);
            } else if (resume instanceof Resume.Gap gap) {
                gap.reader().close(StreamReader.Close.BROKEN);
            }
            return false;
        });
    }
}

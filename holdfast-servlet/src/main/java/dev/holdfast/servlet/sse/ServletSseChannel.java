package dev.holdfast.servlet.sse;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An SSE response on a servlet request. A response that is complete when the request's thread returns is synchronous; else the
 * request is asynchronous by then. Containers report failures in different ways: all come out as one.
 *
 * <p>A container may use a response again for another request as soon as it has reported its end. Tomcat does so while a thread
 * that is not its own is still inside of the write that failed, and the failure then hits the other request. So the report of
 * an end returns only when nobody touches the response, and from then on nobody does.
 */
public final class ServletSseChannel implements SseChannel, AsyncListener, WriteListener {
    private static final Logger log = LoggerFactory.getLogger(ServletSseChannel.class);
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    /** Whether the container is of Servlet 6.1, whose streams take buffers: Jetty sends those without a copy of its own. */
    private static final boolean TAKES_BUFFERS = Arrays.stream(ServletOutputStream.class.getMethods())
            .anyMatch(method -> method.getName().equals("write") && method.getParameterTypes()[0] == ByteBuffer.class);
    /** Once for all responses: a filter that does this does it to each. */
    private static final AtomicBoolean toldOfBlocking = new AtomicBoolean();

    private final ReentrantLock touching = new ReentrantLock();

    private enum Phase {
        /** The request's thread has not returned. */
        ON_THREAD,
        /** The response is complete when the request's thread returns. */
        COMPLETE,
        /** The request is asynchronous. */
        ASYNC
    }

    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final ServletOutputStream out;
    private final Runnable reset;
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.ON_THREAD);
    private volatile @Nullable AsyncContext context;
    private boolean gone;
    private boolean completed;
    private boolean nonBlocking;
    private volatile @Nullable Events events;

    private ServletSseChannel(HttpServletRequest request, HttpServletResponse response, Runnable reset)
            throws IOException {
        this.request = request;
        this.response = response;
        this.out = response.getOutputStream();
        this.reset = reset;
    }

    /** Turns a request into an SSE response, on the thread that handles it. */
    public static ServletSseChannel open(
            HttpServletRequest request, HttpServletResponse response, String contentType, Runnable reset)
            throws IOException {
        response.setStatus(HttpServletResponse.SC_OK);
        response.setHeader("Content-Type", contentType);
        response.setHeader("Cache-Control", "no-cache, no-transform");
        response.setHeader("X-Accel-Buffering", "no");
        return new ServletSseChannel(request, response, reset);
    }

    /** Lets the container report to this connection from now on. */
    public void listen(Events connection) {
        events = connection;
        if (request.isAsyncStarted()) {
            leaveThread();
        }
    }

    @Override
    public void leaveThread() {
        if (phase.get() != Phase.ON_THREAD) {
            return;
        }
        AsyncContext begun =
                request.isAsyncStarted() ? request.getAsyncContext() : request.startAsync(request, response);
        begun.setTimeout(0);
        begun.addListener(this);
        context = begun;
        if (!phase.compareAndSet(Phase.ON_THREAD, Phase.ASYNC)) {
            // another thread has written the last bytes meanwhile
            completeUnlessGone();
        }
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        touching.lock();
        try {
            requireThere();
            put(bytes);
        } finally {
            touching.unlock();
        }
    }

    private void put(ByteBuffer bytes) throws IOException {
        if (nonBlocking && TAKES_BUFFERS) {
            out.write(bytes);
        } else {
            putArray(bytes);
        }
    }

    /** What every stream knows, a filter's too. */
    private void putArray(ByteBuffer bytes) throws IOException {
        out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
    }

    @Override
    public void flush() throws IOException {
        touching.lock();
        try {
            requireThere();
            out.flush();
        } finally {
            touching.unlock();
        }
    }

    @Override
    public void writeLast(ByteBuffer bytes) throws IOException {
        touching.lock();
        try {
            requireThere();
            putArray(bytes);
        } finally {
            touching.unlock();
        }
    }

    @Override
    public boolean startAsync() throws IOException {
        touching.lock();
        try {
            requireThere();
            nonBlocking = mayListen() && listens();
        } finally {
            touching.unlock();
        }
        if (!nonBlocking && !toldOfBlocking.getAndSet(true)) {
            log.warn(
                    "responses are written by {}, which a filter has put there and which knows only writes that block:"
                            + " a client that reads nothing holds a thread",
                    out.getClass().getName());
        }
        return nonBlocking;
    }

    /**
     * Before a listener is set, some containers refuse {@code isReady}, most return true, and Tomcat 10.1 returns false. A filter's stream
     * that knows only writes that block may return false too. A null listener tells them apart: a container throws a
     * NullPointerException, as the Servlet specification says.
     */
    private boolean mayListen() {
        try {
            return out.isReady() || refusesNone();
        } catch (UnsupportedOperationException e) {
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    @SuppressWarnings("NullAway") // what comes of it is the question
    private boolean refusesNone() {
        try {
            out.setWriteListener(null);
            return false;
        } catch (NullPointerException e) {
            return true;
        } catch (RuntimeException e) {
            // a filter's stream that takes no listener at all
            return false;
        }
    }

    private boolean listens() {
        try {
            out.setWriteListener(this);
            return true;
        } catch (UnsupportedOperationException e) {
            return false;
        }
    }

    @Override
    public boolean ready() throws IOException {
        touching.lock();
        try {
            requireThere();
            return out.isReady();
        } finally {
            touching.unlock();
        }
    }

    /** Jetty knows when a flush has failed, but says so only to a write, or later on another thread. */
    @Override
    public void check() throws IOException {
        touching.lock();
        try {
            requireThere();
            if (nonBlocking) {
                put(NOTHING.duplicate());
            }
        } finally {
            touching.unlock();
        }
    }

    @Override
    public void complete() {
        if (phase.compareAndSet(Phase.ON_THREAD, Phase.COMPLETE)) {
            return;
        }
        completeUnlessGone();
    }

    private void completeUnlessGone() {
        touching.lock();
        try {
            if (!gone) {
                completeAsync();
            }
        } finally {
            touching.unlock();
        }
    }

    /** Completes the request once; one whose completion the container has refused is not complete. */
    private void completeAsync() {
        AsyncContext begun = context;
        if (begun != null && !completed) {
            begun.complete();
            completed = true;
        }
    }

    private void requireThere() throws IOException {
        if (gone) {
            throw new IOException("the container has ended the response");
        }
    }

    @Override
    public void reset() {
        touching.lock();
        try {
            if (!gone) {
                reset.run();
            }
        } finally {
            touching.unlock();
        }
    }

    @Override
    public void onWritePossible() {
        events().onWritable();
    }

    @Override
    public void onError(Throwable failure) {
        events().onBroken();
    }

    /**
     * Tomcat takes the completion from no other thread than this one while it reports, and sends a request that is not complete then to
     * the error page.
     */
    @Override
    public void onError(AsyncEvent event) {
        events().onBroken();
        touching.lock();
        try {
            if (!gone && request.isAsyncStarted()) {
                completeAsync();
            }
        } finally {
            gone = true;
            touching.unlock();
        }
    }

    @Override
    public void onComplete(AsyncEvent event) {
        ended();
    }

    @Override
    public void onTimeout(AsyncEvent event) {
        ended();
    }

    @Override
    public void onStartAsync(AsyncEvent event) {}

    private void ended() {
        events().onBroken();
        touching.lock();
        try {
            gone = true;
        } finally {
            touching.unlock();
        }
    }

    private Events events() {
        return Objects.requireNonNull(events, "the container reported before anybody listened");
    }
}

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
 * An SSE response on a servlet request, for the one thread that holds the connection's pump; after {@link #complete} nothing may be called
 * any more. A response that is complete when the request's thread returns is synchronous; else the
 * request is asynchronous by then. Containers report failures in different ways: all come out as one.
 *
 * <p>A container may use a response again for another request as soon as it has reported its end. Tomcat does so while a thread
 * that is not its own is still inside of the write that failed, and the failure then hits the other request. So the report of
 * an end returns only when nobody touches the response, and from then on nobody does.
 */
public final class SseChannel implements AsyncListener, WriteListener {
    private static final Logger log = LoggerFactory.getLogger(SseChannel.class);
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    /** Whether the container is of Servlet 6.1, whose streams take buffers: Jetty sends those without a copy of its own. */
    private static final boolean TAKES_BUFFERS = Arrays.stream(ServletOutputStream.class.getMethods())
            .anyMatch(method -> method.getName().equals("write") && method.getParameterTypes()[0] == ByteBuffer.class);
    /** Once for all responses: a filter that does this does it to each. */
    private static final AtomicBoolean toldOfBlocking = new AtomicBoolean();

    private final ReentrantLock touching = new ReentrantLock();

    /** Hears what the container reports, on its threads. */
    public interface Listener {
        /** Writing may go on. */
        void onWritable();

        /** The connection is broken, or the container has ended the response. */
        void onBroken();
    }

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
    private volatile @Nullable Listener listener;

    private SseChannel(HttpServletRequest request, HttpServletResponse response, Runnable reset) throws IOException {
        this.request = request;
        this.response = response;
        this.out = response.getOutputStream();
        this.reset = reset;
    }

    /** Turns a request into an SSE response, on the thread that handles it. */
    public static SseChannel open(
            HttpServletRequest request, HttpServletResponse response, String contentType, Runnable reset)
            throws IOException {
        response.setStatus(HttpServletResponse.SC_OK);
        response.setHeader("Content-Type", contentType);
        response.setHeader("Cache-Control", "no-cache, no-transform");
        response.setHeader("X-Accel-Buffering", "no");
        return new SseChannel(request, response, reset);
    }

    /** Lets the container report to this connection from now on. */
    public void listen(Listener connection) {
        listener = connection;
        if (request.isAsyncStarted()) {
            leaveThread();
        }
    }

    /** Keeps the response open when the request's thread returns, unless it is complete; for that thread. */
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

    /** Writes bytes of an array; until {@link #startAsync} this may block for them. */
    public void write(ByteBuffer bytes) throws IOException {
        enter();
        try {
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

    /** Pushes out what was written. */
    public void flush() throws IOException {
        enter();
        try {
            out.flush();
        } finally {
            touching.unlock();
        }
    }

    /**
     * Writes the last bytes of the response, before {@link #startAsync} only: the container sends them as it likes best when the
     * response is completed.
     */
    public void writeLast(ByteBuffer bytes) throws IOException {
        enter();
        try {
            putArray(bytes);
        } finally {
            touching.unlock();
        }
    }

    /**
     * From here on nothing blocks: {@link #ready} tells whether a write or flush may follow.
     *
     * @return false where the response knows only writes that block: a filter has put a stream of its own before the container's
     */
    public boolean startAsync() throws IOException {
        enter();
        try {
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

    /** Whether the last write or flush is completed; if not, {@link Listener#onWritable} will be called. */
    public boolean ready() throws IOException {
        enter();
        try {
            return out.isReady();
        } finally {
            touching.unlock();
        }
    }

    /**
     * Throws if the last flush failed and the container has not reported it yet: Jetty knows, but says so only to a write, or later on
     * another thread. Counts as a write of no bytes.
     */
    public void check() throws IOException {
        enter();
        try {
            if (nonBlocking) {
                put(NOTHING.duplicate());
            }
        } finally {
            touching.unlock();
        }
    }

    /** Ends the response: where the request's thread is there still, when it returns. */
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

    /** Takes the response, unless it has ended. */
    private void enter() throws IOException {
        touching.lock();
        if (gone) {
            touching.unlock();
            throw new IOException("the container has ended the response");
        }
    }

    /** Frees the socket of a peer that is stuck, before {@link #complete}: a container that closes it would wait for the peer. */
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
        listener().onWritable();
    }

    @Override
    public void onError(Throwable failure) {
        listener().onBroken();
    }

    /**
     * Tomcat takes the completion from no other thread than this one while it reports, and sends a request that is not complete then to
     * the error page.
     */
    @Override
    public void onError(AsyncEvent event) {
        listener().onBroken();
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
        listener().onBroken();
        touching.lock();
        try {
            gone = true;
        } finally {
            touching.unlock();
        }
    }

    private Listener listener() {
        return Objects.requireNonNull(listener, "the container reported before anybody listened");
    }
}

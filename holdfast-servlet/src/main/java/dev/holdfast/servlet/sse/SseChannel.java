package dev.holdfast.servlet.sse;

import dev.holdfast.servlet.io.BlockingPool;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An SSE response on a servlet request, for the one thread that holds the connection's pump unless a method says otherwise; after {@link
 * #complete} nothing may be called any more. A response that is complete when the request's thread returns is synchronous; else the
 * request is asynchronous by then. Containers report failures in different ways: all come out as one.
 *
 * <p>Until the request is asynchronous a write may wait for the client. While the request's thread is busy, as a handler may hold it, only
 * that thread and some helpers write. Messages that closely follow one another are gathered meanwhile, so that they are one write.
 *
 * <p>A container may use a response again for another request as soon as it has reported its end. Tomcat does so while a thread
 * that is not its own is still inside of the write that failed, and the failure then hits the other request. So the report of
 * an end returns only when nobody touches the response, and from then on nobody does.
 */
public final class SseChannel implements AsyncListener, WriteListener {
    /**
     * How long at least the head of a call's stream waits for the call's first message, so that both are one write, and a message that
     * closely follows another waits for those after it. The clock ends the wait.
     */
    static final long GATHER_NANOS = TimeUnit.MILLISECONDS.toNanos(4);

    /** What is written at once, unless one event alone is longer. */
    static final int BATCH_BYTES = 32 << 10;

    /** What may be written in all while a write may wait: what fits into the buffers of a socket that nothing was written to. */
    private static final int MOST_BYTES = 2 * BATCH_BYTES;

    /** What a container surely keeps until the response is complete, head of the response and all. */
    private static final int KEPT_BYTES = 7 << 10;

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
    private final Framing framing;
    private final ServletOutputStream out;
    private final Runnable reset;
    private final Thread requestThread = Thread.currentThread();
    private final BlockingPool blockingWriters;
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.ON_THREAD);
    private volatile BlockingPool helpers;
    private volatile @Nullable AsyncContext context;
    private volatile @Nullable Listener listener;

    // guarded by touching
    private boolean gone;
    private boolean completed;
    private boolean nonBlocking;

    /** Whether the request's thread is done; for that thread alone. */
    private boolean returning;
    /** Whether it has gone. */
    private volatile boolean returned;
    /** Whether the response never learns to write without waiting. */
    private volatile boolean alwaysBlocks;

    private volatile boolean begun;
    private int written;
    private boolean writtenOnRequestThread;

    /**
     * Turns a request into an SSE response, on the thread that handles it.
     *
     * @param framing tells its status and its type when something is written
     * @param reset resets the connection of a peer that is stuck
     * @param helpers write while the request's thread is busy, and may wait for the client
     * @param blockingWriters write a response that knows only writes that block
     */
    public SseChannel(
            HttpServletRequest request,
            HttpServletResponse response,
            Framing framing,
            Runnable reset,
            BlockingPool helpers,
            BlockingPool blockingWriters)
            throws IOException {
        response.setStatus(HttpServletResponse.SC_OK);
        this.framing = framing;
        this.request = request;
        this.response = response;
        this.out = response.getOutputStream();
        this.reset = reset;
        this.helpers = helpers;
        this.blockingWriters = blockingWriters;
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

    /** The request's thread is done; called by it. */
    void threadReturns() {
        returning = true;
    }

    /** The request's thread has gone, and the request is asynchronous; for any thread. */
    void threadReturned() {
        returned = true;
    }

    /** Whether the request is asynchronous, and no write waits any more; for any thread. */
    boolean neverBlocks() {
        return returned && !alwaysBlocks;
    }

    /** Whether what is new must not wait any more: for the request's thread once that is done, for others once it has gone. */
    boolean mustNotBlock() {
        return !alwaysBlocks && (returned || (returning && Thread.currentThread() == requestThread));
    }

    /** Who writes for others, and may wait for the client; for any thread. */
    BlockingPool helpers() {
        return helpers;
    }

    /** Whether something was written; for any thread. */
    boolean begun() {
        return begun;
    }

    /** Whether the current thread may wait for the client while the request's own is busy. */
    boolean mayWaitHere() {
        return helpers.here() || (!alwaysBlocks && Thread.currentThread() == requestThread);
    }

    /**
     * Whether what comes now waits for more, and for the request's thread: not where nobody else could write it in time.
     *
     * @param sinceWrite how long ago the last write was, in nanoseconds
     */
    boolean gathers(long sinceWrite) {
        return written > 0 && !mustNotBlock() && sinceWrite < GATHER_NANOS && helpers.free();
    }

    /** How many bytes of messages to compose for the next write: half of what fits where frames may add as much again. */
    int batch() {
        return written == 0 || alwaysBlocks || mustNotBlock()
                ? BATCH_BYTES
                : Math.max(1, Math.min(BATCH_BYTES, MOST_BYTES - written) / 2);
    }

    /**
     * How much of so many bytes may be written before {@link #startAsync}.
     *
     * @param last whether the response ends with it
     * @param due whether some of it shall go ahead though it is too long
     */
    int mayWrite(int length, boolean last, boolean due) {
        if (written == 0 && last && length <= KEPT_BYTES) {
            return length;
        }
        // the request's thread that is done may still write the end of what it has begun
        boolean mayWait = mustNotBlock() ? !returned && last && writtenOnRequestThread : mayWaitHere();
        if (!mayWait) {
            return 0;
        }
        int left = alwaysBlocks ? MOST_BYTES : MOST_BYTES - written;
        return length <= left || written > 0 || due ? Math.min(length, left) : 0;
    }

    /**
     * Writes bytes of an array; until {@link #startAsync} this may wait for the client. Without a {@link #flush} the container sends the
     * last bytes of a response as it likes best when that is completed.
     *
     * @param last whether the response ends with them: an answer to a POST that is whole needs no word to proxies, which may keep it
     */
    public void write(ByteBuffer bytes, boolean last) throws IOException {
        if (!begun) {
            head(last && request.getMethod().equals("POST"));
        }
        // more than the most need not be counted
        written = Math.min(MOST_BYTES, written + bytes.remaining());
        writtenOnRequestThread |= Thread.currentThread() == requestThread;
        begun = true;
        enter();
        try {
            put(bytes);
        } finally {
            touching.unlock();
        }
    }

    private void head(boolean whole) {
        int status = framing.status();
        if (status != HttpServletResponse.SC_OK) {
            response.setStatus(status);
        }
        response.setHeader("Content-Type", framing.contentType());
        if (!whole) {
            response.setHeader("Cache-Control", "no-cache, no-transform");
            response.setHeader("X-Accel-Buffering", "no");
        }
    }

    /** A stream of a filter knows arrays only. */
    private void put(ByteBuffer bytes) throws IOException {
        if (nonBlocking && TAKES_BUFFERS) {
            out.write(bytes);
        } else {
            out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
        }
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
        if (!nonBlocking) {
            helpers = blockingWriters;
            alwaysBlocks = true;
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

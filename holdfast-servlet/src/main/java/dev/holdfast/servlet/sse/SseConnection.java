package dev.holdfast.servlet.sse;

import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.WriteStall;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Faults;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: a cursor on its way to a socket. Only the holder of its {@link Pump} touches the response; everybody else says what
 * is to be done and tries to take the pump.
 *
 * <p>Once the request's thread is done, nothing blocks, whoever holds the pump: a client that sends one request behind the
 * other and reads none of the answers would hold the thread that has news for it, and others wait for that one. A short
 * answer that is whole goes to the container, which keeps it until the response is complete, and needs no asynchronous
 * dispatch. While the request's thread is busy, as a handler may hold it, only that thread and some of our own write, and
 * may block.
 */
public final class SseConnection implements SseChannel.Events, StreamReader.Waker, EdgeClock.Ticking {
    private static final Logger log = LoggerFactory.getLogger(SseConnection.class);
    /** What may be written while writes may block: what fits into the buffers of a socket that nothing was written to. */
    private static final int BLOCKING_BYTES = 2 * SseComposer.BATCH_BYTES;

    /** What a container surely keeps until the response is complete, head of the response and all. */
    private static final int KEPT_BYTES = 7 << 10;

    private static final int SLICE_BYTES = 128 << 10;

    /** How long the head of a call's stream waits for the call's first message, to be one write with it. */
    private static final long HEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(4);

    /** How long a peer takes no more bytes before that says something about it. */
    private static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Pump pump = new Pump();
    private final SseChannel channel;
    private final StreamReader reader;
    private final ConnectionClock clock;
    private final long openedAt;
    private final long maxAgeNanos;
    private final Heartbeat heartbeat;
    private final SseComposer composer;
    private final @Nullable PeerProof proof;
    private final Thread requestThread = Thread.currentThread();

    /** For the request's thread alone. */
    private boolean returning;

    private volatile boolean started;
    private volatile boolean headDue;
    private volatile boolean helped;
    private volatile boolean broken;
    private volatile boolean rotate;
    private volatile long wroteAt;
    private volatile long stuckSince;

    // for the holder of the pump alone
    private boolean async;
    private boolean flush;
    private boolean unconfirmed;
    private boolean checked;
    private long began;
    private int blocking;
    private @Nullable ByteBuffer rest;
    private @Nullable Close closing;

    public SseConnection(SseChannel channel, SseSource source, ConnectionClock clock) {
        this.channel = channel;
        this.reader = source.reader();
        this.clock = clock;
        this.openedAt = clock.now();
        this.wroteAt = openedAt;
        this.maxAgeNanos = clock.jitteredMaxAge();
        this.heartbeat = new Heartbeat(clock.heartbeatNanos());
        this.composer = new SseComposer(source, heartbeat, clock);
        this.proof = source.proof();
    }

    /** Lets news come, and has the head written with the first of them, or by the clock without. */
    public void open() {
        clock.add(this);
        reader.wakeWith(this);
    }

    /** From here on nothing blocks; called once, by the request's thread when it is done. */
    public void start() {
        returning = true;
        wake();
        try {
            channel.leaveThread();
        } catch (RuntimeException e) {
            abort();
            throw e;
        }
        if (!pump.closed()) {
            started = true;
            wake();
        }
    }

    /** Whether nothing may block any more: for others from the moment on at which the request is asynchronous. */
    private boolean started() {
        return started || (returning && Thread.currentThread() == requestThread);
    }

    /** Writes the head now; called once, by the request's thread when it is done. */
    public void startNow() {
        headDue = true;
        start();
    }

    /** The head has waited long enough for news. */
    private void openWithout() {
        headDue = true;
        if (started) {
            clock.openNow(this::wake);
        } else {
            wakeHelper();
        }
    }

    /** Has the pump run by a thread that may block. */
    private void wakeHelper() {
        if (!helped) {
            helped = true;
            boolean comes = clock.writeHead(() -> {
                helped = false;
                wake();
            });
            if (!comes) {
                helped = false;
            }
        }
    }

    @Override
    public void wake() {
        if (pump.take()) {
            run();
        }
    }

    @Override
    public void onWritable() {
        if (pump.goOn()) {
            run();
        } else {
            wake();
        }
    }

    @Override
    public void onBroken() {
        broken = true;
        abort();
    }

    @Override
    public void abort() {
        broken = true;
        if (pump.closeStuck()) {
            end(Close.BROKEN);
        } else {
            wake();
        }
    }

    @Override
    public void tick(long now) {
        if (pump.stuck()) {
            if (now - stuckSince >= clock.stallNanos()) {
                clock.stalled(WriteStall.ENDED);
                log.debug("a connection made no progress for {} and is ended", clock.stallDeadline());
                abort();
            } else if (proof != null && now - stuckSince >= STUCK_NANOS) {
                proof.stuck();
            }
            return;
        }
        if (!headDue && !composer.opened() && !pump.closed() && now - openedAt >= HEAD_NANOS) {
            openWithout();
        }
        boolean ages = !rotate && proof == null && maxAgeNanos > 0 && now - openedAt >= maxAgeNanos;
        if (ages) {
            rotate = true;
        }
        if (ages || heartbeat.due(now, wroteAt, proof != null && proof.wanted())) {
            wake();
        }
    }

    /** Holds the pump until there is nothing to do, the container is full, or all is over. */
    private void run() {
        while (true) {
            Pump.State next;
            try {
                next = turn();
            } catch (Throwable e) {
                Faults.report(log, "a connection broke", e);
                closing = Close.BROKEN;
                next = Pump.State.CLOSED;
            }
            if (next == Pump.State.CLOSED) {
                pump.close();
                end(closing == null ? Close.BROKEN : closing);
                return;
            }
            if (next == Pump.State.AWAIT_WRITABLE) {
                stuckSince = clock.now();
                clock.stalled(WriteStall.WAITED);
            }
            if (pump.release(next)) {
                return;
            }
        }
    }

    /** Writes as much as can be written, and says what state that leads to. */
    private Pump.State turn() throws IOException {
        boolean exhausted = false;
        while (true) {
            if (broken) {
                closing = Close.BROKEN;
                return Pump.State.CLOSED;
            }
            if (async && !channel.ready()) {
                return Pump.State.AWAIT_WRITABLE;
            }
            if (flush) {
                flush = false;
                channel.flush();
                continue;
            }
            if (unconfirmed && proof != null && !checked) {
                checked = true;
                channel.check();
                continue;
            }
            if (rest != null || closing == null) {
                // the close of the reader confirms what was written last
                confirm();
            }
            if (rest == null && closing == null && !exhausted) {
                rest = composer.next(headDue, rotate);
                closing = composer.closing();
                exhausted = composer.exhausted();
            }
            if (rest != null) {
                int size = mayWrite(rest);
                if (size > 0) {
                    write(rest, size);
                } else if (started()) {
                    goAsync();
                } else {
                    if (!mayBlock()) {
                        wakeHelper();
                    }
                    return Pump.State.IDLE;
                }
            } else if (closing != null) {
                return Pump.State.CLOSED;
            } else if (started() && composer.opened() && !async) {
                goAsync();
            } else {
                return Pump.State.IDLE;
            }
        }
    }

    /** How much of this may be written now: the head at least, whatever follows it. */
    private int mayWrite(ByteBuffer bytes) {
        if (async) {
            return Math.min(bytes.remaining(), SLICE_BYTES);
        }
        if (blocking == 0 && closing != null && bytes.remaining() <= KEPT_BYTES) {
            return bytes.remaining();
        }
        if (started() || !mayBlock()) {
            return 0;
        }
        if (blocking + bytes.remaining() <= BLOCKING_BYTES) {
            return bytes.remaining();
        }
        return blocking == 0 ? composer.headBytes() : 0;
    }

    /** Whether this is a thread that may wait for the client, while the request's own is busy. */
    private boolean mayBlock() {
        return Thread.currentThread() == requestThread || clock.writesHeads();
    }

    private void goAsync() throws IOException {
        channel.leaveThread();
        channel.startAsync();
        async = true;
    }

    /** The last write is completed. */
    private void confirm() {
        if (unconfirmed) {
            unconfirmed = false;
            checked = false;
            wroteAt = clock.now();
            reader.wrote(began, wroteAt);
            if (proof != null) {
                proof.wrote(began, wroteAt);
            }
        }
    }

    /** Writes a slice at a time, so that a slow peer is seen to make progress. */
    private void write(ByteBuffer bytes, int size) throws IOException {
        began = clock.now();
        if (!async) {
            blocking += size;
        }
        ByteBuffer slice = bytes.slice(bytes.position(), size);
        bytes.position(bytes.position() + size);
        if (!bytes.hasRemaining()) {
            rest = null;
            unconfirmed = true;
        }
        if (!async && closing != null && rest == null) {
            channel.writeLast(slice);
        } else {
            channel.write(slice);
            flush = true;
        }
    }

    private void end(Close how) {
        clock.remove(this);
        if (proof != null) {
            proof.gone();
        }
        if (how == Close.BROKEN) {
            last(channel::reset);
        }
        last(channel::complete);
        reader.close(how);
    }

    /** Whatever becomes of the response, its reader is closed. */
    private static void last(Runnable step) {
        try {
            step.run();
        } catch (Throwable e) {
            Faults.report(log, "a response could not be ended", e);
        }
    }
}

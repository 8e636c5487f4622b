package dev.holdfast.servlet.sse;

import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.WriteStall;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.servlet.io.HeldInterrupt;
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
 * <p>Once the request's thread is done, what is new blocks nobody, whoever holds the pump: a client that sends one request behind
 * the other and reads none of the answers would hold the thread that has news for it, and others wait for that one. A short
 * answer that is whole goes to the container, which keeps it until the response is complete, and needs no asynchronous
 * dispatch. What may block before is said by {@link BlockingPhase}.
 */
public final class SseConnection implements SseChannel.Events, StreamReader.Waker, EdgeClock.Ticking {
    private static final Logger log = LoggerFactory.getLogger(SseConnection.class);
    private static final int SLICE_BYTES = 128 << 10;

    /** How long a peer takes no more bytes before that says something about it. */
    private static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The same where what it has not taken takes memory that others need. */
    private static final long HURRIED_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Pump pump = new Pump();
    private final SseChannel channel;
    private final StreamReader reader;
    private final ConnectionClock clock;
    private final long openedAt;
    private final long maxAgeNanos;
    private final Heartbeat heartbeat;
    private final SseComposer composer;
    private final @Nullable PeerProof proof;
    private final BlockingPhase phase;
    private volatile boolean headDue;
    private volatile boolean gathering;
    private volatile boolean helped;
    private volatile boolean broken;
    private volatile boolean rotate;
    private volatile boolean hurried;
    private volatile long wroteAt;
    private volatile long stuckSince;

    // for the holder of the pump alone
    private boolean async;
    private boolean flush;
    private boolean unconfirmed;
    private boolean checked;
    private long began;
    private @Nullable SseBatch rest;
    private @Nullable Close closing;

    public SseConnection(SseChannel channel, SseSource source, ConnectionClock clock) {
        this.channel = channel;
        this.reader = source.reader();
        this.clock = clock;
        this.openedAt = clock.now();
        this.wroteAt = openedAt;
        this.maxAgeNanos = clock.jitteredMaxAge();
        this.heartbeat = new Heartbeat(clock.heartbeatNanos(), source.framing().beat());
        this.composer = new SseComposer(source, heartbeat, clock);
        this.proof = source.proof();
        this.phase = new BlockingPhase(clock.helpers());
    }

    /** Lets news come, and has the head written with the first of them, or by the clock without. */
    public void open() {
        clock.add(this);
        reader.wakeWith(this);
    }

    /** From here on what is new blocks nobody; called once, by the request's thread when it is done. */
    public void start() {
        phase.threadReturns();
        wake();
        try {
            channel.leaveThread();
        } catch (RuntimeException e) {
            abort();
            throw e;
        }
        if (!pump.closed()) {
            phase.end();
            wake();
        }
    }

    /** Writes the head now; called once, by the request's thread when it is done. */
    public void startNow() {
        headDue = true;
        start();
    }

    /** The head has waited long enough for news. */
    private void openWithout() {
        headDue = true;
        if (phase.ended()) {
            clock.openNow(this::wake);
        } else {
            wakeHelper();
        }
    }

    /** Has the pump run by a thread that may block. */
    private void wakeHelper() {
        if (!helped) {
            helped = true;
            boolean comes = phase.helpers().offer(() -> {
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
    public void hurry() {
        hurried = true;
        if (pump.stuck() && clock.now() - stuckSince >= HURRIED_NANOS) {
            abort();
        } else {
            wake();
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
            } else if (hurried && now - stuckSince >= HURRIED_NANOS) {
                abort();
            } else if (proof != null && now - stuckSince >= STUCK_NANOS) {
                proof.stuck();
            }
            return;
        }
        if (!headDue && !phase.begun() && !pump.closed() && now - openedAt >= BlockingPhase.GATHER_NANOS) {
            openWithout();
        }
        if (gathering && now - wroteAt >= BlockingPhase.GATHER_NANOS) {
            wakeHelper();
        }
        boolean ages = !rotate && proof == null && maxAgeNanos > 0 && now - openedAt >= maxAgeNanos;
        if (ages) {
            rotate = true;
        }
        if (ages || heartbeat.due(now, wroteAt, proof != null && proof.wanted())) {
            wake();
        }
    }

    /**
     * Holds the pump until there is nothing to do, the container is full, or all is over. A thread that is interrupted, as that of a handler
     * whose call is cancelled, writes all the same: containers break a connection off for it, which may not even be that of its call. That
     * no interrupt comes in the midst of a write is for whoever interrupts to see to.
     */
    private void run() {
        HeldInterrupt interrupt = new HeldInterrupt();
        try {
            run(interrupt);
        } finally {
            interrupt.giveBack();
        }
    }

    private void run(HeldInterrupt interrupt) {
        while (true) {
            Pump.State next;
            try {
                next = turn(interrupt);
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
    private Pump.State turn(HeldInterrupt interrupt) throws IOException {
        boolean exhausted = false;
        while (true) {
            interrupt.hold();
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
                rest = composer.next(headDue, rotate, !async && phase.gathers(clock.now() - wroteAt), phase.room());
                gathering = rest == null && composer.gathered();
                closing = composer.closing();
                exhausted = composer.exhausted();
            }
            if (rest != null) {
                int size = mayWrite(rest);
                if (size > 0) {
                    write(rest, size);
                } else if (phase.isOver()) {
                    goAsync();
                } else {
                    if (!phase.mayWaitHere()) {
                        wakeHelper();
                    }
                    return Pump.State.IDLE;
                }
            } else if (closing != null) {
                return Pump.State.CLOSED;
            } else if (phase.isOver() && composer.opened() && !async) {
                goAsync();
            } else {
                return Pump.State.IDLE;
            }
        }
    }

    /** How much of this may be written now. What is too long for a blocking write goes ahead in part only once the head is due. */
    private int mayWrite(SseBatch batch) {
        return async
                ? Math.min(batch.remaining(), SLICE_BYTES)
                : phase.mayWrite(batch.remaining(), closing != null, headDue);
    }

    private void goAsync() throws IOException {
        channel.leaveThread();
        async = channel.startAsync();
        if (!async) {
            phase.neverEnds(clock.blocking());
        }
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
    private void write(SseBatch batch, int size) throws IOException {
        began = clock.now();
        phase.writes(size);
        ByteBuffer slice = batch.next(size);
        if (batch.remaining() == 0) {
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

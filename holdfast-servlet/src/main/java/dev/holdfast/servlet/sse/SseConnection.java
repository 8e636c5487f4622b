package dev.holdfast.servlet.sse;

import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.WriteStall;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Faults;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: a cursor on its way to a socket. Only the holder of its pump touches the response; everybody else says what is to be done
 * and tries to take the pump, or tells its holder to look again.
 *
 * <pre>
 *   IDLE     --taken by whoever has news-->          RUNNING
 *   RUNNING  --nothing left to write-->              IDLE
 *   RUNNING  --news while it runs-->                 AGAIN  --the holder looks again--> RUNNING
 *   RUNNING  --the container cannot take more-->     AWAIT_WRITABLE --onWritable--> RUNNING
 *   AWAIT_WRITABLE --stalled, superseded, broken-->  CLOSED
 *   RUNNING, IDLE  --end, broken-->                  CLOSED
 * </pre>
 *
 * <p>Once the request's thread is done, what is new blocks nobody, whoever holds the pump: a client that sends one request behind
 * the other and reads none of the answers would hold the thread that has news for it, and others wait for that one. A short
 * answer that is whole goes to the container, which keeps it until the response is complete, and needs no asynchronous
 * dispatch. What may block before is said by {@link BlockingPhase}.
 */
public final class SseConnection implements SseChannel.Listener, StreamReader.Waker, EdgeClock.Ticking {
    private static final Logger log = LoggerFactory.getLogger(SseConnection.class);
    private static final int SLICE_BYTES = 128 << 10;

    /** How long a peer takes no more bytes before that says something about it. */
    private static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The same where what it has not taken takes memory that others need. */
    private static final long HURRIED_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final AtomicReference<State> state = new AtomicReference<>(State.IDLE);
    private final SseChannel channel;
    private final StreamReader reader;
    private final SseConnections connections;
    private final EdgeClock clock;
    private final long openedAt;
    private final long maxAgeNanos;
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
    private boolean exhausted;
    private long began;
    /** Whether what is composed is to be written. */
    private boolean ready;

    private @Nullable Close closing;

    /** What the pump does. */
    private enum State {
        IDLE,
        RUNNING,
        AGAIN,
        AWAIT_WRITABLE,
        CLOSED
    }

    public SseConnection(SseChannel channel, SseSource source, SseConnections connections) {
        this.channel = channel;
        this.reader = source.reader();
        this.connections = connections;
        this.clock = connections.clock;
        this.openedAt = clock.now();
        this.wroteAt = openedAt;
        this.maxAgeNanos = connections.times.jitteredMaxAgeNanos();
        this.composer = new SseComposer(source, connections.times);
        this.proof = source.proof();
        this.phase = new BlockingPhase(connections.helpers);
    }

    /** Lets news come, and has the head written with the first of them, or by the clock without. */
    public void open() {
        connections.add(this);
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
        if (state.get() != State.CLOSED) {
            phase.end();
            wake();
        }
    }

    /** Writes the head now; called once, by the request's thread when it is done. */
    public void startNow() {
        headDue = true;
        start();
    }

    @Override
    public void wake() {
        if (take()) {
            run();
        }
    }

    @Override
    public void hurry() {
        hurried = true;
        if (stuck() && clock.now() - stuckSince >= HURRIED_NANOS) {
            abort();
        } else {
            wake();
        }
    }

    @Override
    public void onWritable() {
        if (state.compareAndSet(State.AWAIT_WRITABLE, State.RUNNING)) {
            run();
        } else {
            wake();
        }
    }

    @Override
    public void onBroken() {
        abort();
    }

    @Override
    public void abort() {
        broken = true;
        if (state.compareAndSet(State.AWAIT_WRITABLE, State.CLOSED)) {
            end(Close.BROKEN);
        } else {
            wake();
        }
    }

    @Override
    public void tick(long now) {
        if (stuck()) {
            if (now - stuckSince >= connections.times.stall().toNanos()) {
                connections.stalls.accept(WriteStall.ENDED);
                log.debug("a connection made no progress for {} and is ended", connections.times.stall());
                abort();
            } else if (hurried && now - stuckSince >= HURRIED_NANOS) {
                abort();
            } else if (proof != null && now - stuckSince >= STUCK_NANOS) {
                proof.stuck();
            }
            return;
        }
        if (!headDue && !phase.begun() && state.get() != State.CLOSED && now - openedAt >= BlockingPhase.GATHER_NANOS) {
            openWithout();
        }
        if (gathering && now - wroteAt >= BlockingPhase.GATHER_NANOS) {
            wakeHelper();
        }
        boolean ages = !rotate && proof == null && maxAgeNanos > 0 && now - openedAt >= maxAgeNanos;
        if (ages) {
            rotate = true;
        }
        if (ages || composer.beatDue(now, wroteAt, proof != null && proof.wanted())) {
            wake();
        }
    }

    /** The head has waited long enough for news. */
    private void openWithout() {
        headDue = true;
        if (phase.ended()) {
            connections.openings.offer(this::wake);
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

    /** Takes the pump; false if its holder looks again, or nobody can write now. */
    private boolean take() {
        while (true) {
            switch (Objects.requireNonNull(state.get())) {
                case IDLE -> {
                    if (state.compareAndSet(State.IDLE, State.RUNNING)) {
                        return true;
                    }
                }
                case RUNNING -> {
                    if (state.compareAndSet(State.RUNNING, State.AGAIN)) {
                        return false;
                    }
                }
                case AGAIN, AWAIT_WRITABLE, CLOSED -> {
                    return false;
                }
            }
        }
    }

    /** Whether it waits until the container can take more. */
    private boolean stuck() {
        return state.get() == State.AWAIT_WRITABLE;
    }

    /**
     * Holds the pump until there is nothing to do, the container is full, or all is over. A thread that is interrupted, as that of a handler
     * whose call is cancelled, writes all the same: containers break a connection off for it, which may not even be that of its call. That
     * no interrupt comes in the midst of a write is for whoever interrupts to see to.
     */
    private void run() {
        boolean interrupted = false;
        try {
            exhausted = false;
            State next = State.RUNNING;
            while (next == State.RUNNING) {
                interrupted |= Thread.interrupted();
                next = turn();
                if (next != State.RUNNING) {
                    next = release(next);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private State turn() {
        try {
            return step();
        } catch (Throwable e) {
            Faults.report(log, "a connection broke", e);
            closing = Close.BROKEN;
            return State.CLOSED;
        }
    }

    /** Gives the pump back, and returns what state it is in then: running, if its holder has to look again. */
    private State release(State next) {
        if (next == State.CLOSED) {
            state.set(State.CLOSED);
            end(closing == null ? Close.BROKEN : closing);
            return next;
        }
        if (next == State.AWAIT_WRITABLE) {
            stuckSince = clock.now();
            connections.stalls.accept(WriteStall.WAITED);
        }
        if (state.compareAndSet(State.RUNNING, next)) {
            return next;
        }
        state.set(State.RUNNING);
        exhausted = false;
        return State.RUNNING;
    }

    /** Does the next thing that can be done; if there is none, says what state that leads to. */
    private State step() throws IOException {
        if (broken) {
            closing = Close.BROKEN;
            return State.CLOSED;
        }
        if (async && !channel.ready()) {
            return State.AWAIT_WRITABLE;
        }
        if (flush) {
            flush = false;
            channel.flush();
            return State.RUNNING;
        }
        if (unconfirmed && proof != null && !checked) {
            checked = true;
            channel.check();
            return State.RUNNING;
        }
        if (ready || closing == null) {
            // the close of the reader confirms what was written last
            confirm();
        }
        if (!ready && closing == null && !exhausted) {
            ready = composer.next(headDue, rotate, !async && phase.gathers(clock.now() - wroteAt), phase.room());
            gathering = !ready && !composer.frames().isEmpty();
            closing = composer.closing();
            exhausted = composer.exhausted();
        }
        if (ready) {
            return writeReady();
        }
        if (closing != null) {
            return State.CLOSED;
        }
        if (phase.isOver() && composer.opened() && !async) {
            goAsync();
            return State.RUNNING;
        }
        return State.IDLE;
    }

    private State writeReady() throws IOException {
        int size = mayWrite(composer.frames().size());
        if (size > 0) {
            write(size);
        } else if (phase.isOver()) {
            goAsync();
        } else {
            if (!phase.mayWaitHere()) {
                wakeHelper();
            }
            return State.IDLE;
        }
        return State.RUNNING;
    }

    /** How much may be written now. What is too long for a blocking write goes ahead in part only once the head is due. */
    private int mayWrite(int remaining) {
        return async ? Math.min(remaining, SLICE_BYTES) : phase.mayWrite(remaining, closing != null, headDue);
    }

    private void goAsync() throws IOException {
        channel.leaveThread();
        async = channel.startAsync();
        if (!async) {
            phase.neverEnds(connections.blocking);
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
    private void write(int size) throws IOException {
        began = clock.now();
        phase.writes(size);
        ByteBuffer slice = composer.frames().take(size);
        if (composer.frames().isEmpty()) {
            ready = false;
            unconfirmed = true;
        }
        if (!async && closing != null && !ready) {
            channel.writeLast(slice);
        } else {
            channel.write(slice);
            flush = true;
        }
    }

    private void end(Close how) {
        connections.remove(this);
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

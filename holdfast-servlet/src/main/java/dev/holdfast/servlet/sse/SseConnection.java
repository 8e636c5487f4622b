package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.WriteStall;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: a cursor on its way to a socket. Only the holder of its pump touches the response and composes what comes next, be it
 * the opening, events, half a heartbeat or the closing; everybody else says what is to be done and tries to take the pump, or tells its
 * holder to look again.
 *
 * <pre>
 *   IDLE     --taken by whoever has something new-->  RUNNING
 *   RUNNING  --nothing left to write-->               IDLE
 *   RUNNING  --something new while it runs-->         AGAIN  --the holder looks again--> RUNNING
 *   RUNNING  --the container cannot take more-->      AWAIT_WRITABLE --onWritable--> IDLE
 *   AWAIT_WRITABLE --stalled, superseded, broken-->   CLOSED
 *   RUNNING, IDLE  --end, broken-->                   CLOSED
 * </pre>
 *
 * <p>Once the request's thread is done, what is new blocks nobody, whoever holds the pump: a client that sends one request behind
 * the other and reads none of the answers would hold the thread that writes to it, and others wait for that one. A short
 * answer that is whole goes to the container, which keeps it until the response is complete, and needs no asynchronous
 * dispatch. What may block before is said by {@link SseChannel}.
 *
 * <p>A heartbeat is an SSE comment, or white space, in two writes. A peer that is gone answers the first with a reset, which the second
 * then meets; so the two are more than a round trip apart.
 */
public final class SseConnection implements SseChannel.Listener, StreamReader.Waker, EdgeClock.Ticking {
    private static final Logger log = LoggerFactory.getLogger(SseConnection.class);
    private static final int SLICE_BYTES = 128 << 10;

    private static final long ROTATION_RETRY_MILLIS = 100;
    private static final byte[] SECOND_HALF = "\n".getBytes(US_ASCII);
    private static final long HALVES_APART_NANOS = TimeUnit.MILLISECONDS.toNanos(110);

    /** How long a peer takes no more bytes before that says something about it. */
    private static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The same where what it has not taken takes memory that others need. */
    private static final long HURRIED_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final AtomicReference<State> state = new AtomicReference<>(State.IDLE);
    private final SseChannel channel;
    private final StreamReader reader;
    private final Framing framing;
    private final SseConnections connections;
    private final EdgeClock clock;
    private final long openedAt;
    private final long maxAgeNanos;
    private final @Nullable Runnable unstored;
    private final @Nullable PeerProof proof;
    private volatile Heartbeat heartbeat = Heartbeat.NONE;
    private volatile boolean headDue;
    private volatile boolean gathering;
    private volatile boolean helped;
    private volatile boolean broken;
    private volatile boolean rotate;
    /** Until when its client may listen; empty for ever. */
    private volatile OptionalLong listensUntil = OptionalLong.empty();

    private volatile boolean hurried;
    private volatile long wroteAt;
    private volatile long stuckSince;

    // for the holder of the pump alone
    /** What was composed and is not written yet, and what is only gathered. */
    final SseFrames frames = new SseFrames();
    /** Whether the opening was composed. */
    boolean opened;
    /** How the connection is to be closed after what was composed, if it is. */
    @Nullable Close closing;

    private boolean async;
    private boolean flush;
    private boolean unconfirmed;
    private boolean checked;
    /** Whether all was read that was there when it was read last: whoever has more wakes the pump. */
    private boolean exhausted;

    private long began;
    /** Whether what is composed is to be written. */
    private boolean ready;
    /** Whether what is composed asks the client something. */
    private boolean asks;
    /** Whether the client could come back if the connection ended now. */
    private boolean returnable;

    /** What the pump does. */
    private enum State {
        IDLE,
        RUNNING,
        AGAIN,
        AWAIT_WRITABLE,
        CLOSED
    }

    /** Half a heartbeat: the clock says what is due, the holder of the pump writes it. */
    private enum Heartbeat {
        NONE,
        FIRST_DUE,
        HALF_WRITTEN,
        SECOND_DUE
    }

    /**
     * A connection of a stream, not yet open.
     *
     * @param reader the cursor
     * @param framing how events are written
     * @param unstored for the stream of a call that has just been opened: answers where the store has not taken the call, of which nothing
     *     was told yet. Else such a stream ends in order
     * @param proof learns whether the peer is there, for the stream of a session that ends with its connection: that is never ended for its
     *     age
     */
    public SseConnection(
            SseChannel channel,
            StreamReader reader,
            Framing framing,
            SseConnections connections,
            @Nullable Runnable unstored,
            @Nullable PeerProof proof) {
        this.channel = channel;
        this.reader = reader;
        this.framing = framing;
        this.connections = connections;
        this.clock = connections.clock;
        this.openedAt = clock.now();
        this.wroteAt = openedAt;
        this.maxAgeNanos = connections.jitteredMaxAgeNanos();
        this.unstored = unstored;
        this.proof = proof;
        boolean tellsPosition = framing.tellsPosition();
        // the client of a call has nothing to come back with before it was told a position
        this.returnable = proof == null && framing.resumable() && (unstored == null || tellsPosition);
        if (tellsPosition) {
            reader.positionTold();
        }
    }

    /** Ends it in order at a time, also where its client has nothing to come back with; called before the start. */
    public void listensUntil(OptionalLong nanos) {
        listensUntil = nanos;
    }

    private boolean mayNotListen(long now) {
        return listensUntil.isPresent() && now - listensUntil.getAsLong() >= 0;
    }

    /** Lets the reader wake it, and has the head written with the first events, or by the clock without. */
    public void open() {
        channel.listen(this);
        connections.open.add(this);
        reader.wakeWith(this);
    }

    /** From here on what is new blocks nobody; called once, by the request's thread when it is done. */
    public void start() {
        channel.threadReturns();
        wake();
        try {
            channel.leaveThread();
        } catch (RuntimeException e) {
            abort();
            throw e;
        }
        if (state.get() != State.CLOSED) {
            channel.threadReturned();
            wake();
        }
    }

    /** Writes the head now; called once, by the request's thread when it is done. */
    public void startNow() {
        headDue = true;
        start();
    }

    /**
     * Takes the pump, unless its holder looks again or nobody can write now, and holds it until there is nothing to do, the container is
     * full, or all is over. An interrupt is set aside meanwhile: a handler's thread may be interrupted because its call is cancelled, and
     * containers break off the connection on which an interrupted thread writes, which may be that of another call. Whoever interrupts
     * takes care not to do so during a write.
     */
    @Override
    public void wake() {
        while (!state.compareAndSet(State.IDLE, State.RUNNING)) {
            State now = state.get();
            if (now != State.IDLE && (now != State.RUNNING || state.compareAndSet(State.RUNNING, State.AGAIN))) {
                return;
            }
        }
        boolean interrupted = false;
        try {
            exhausted = false;
            State next = State.RUNNING;
            while (next == State.RUNNING) {
                interrupted |= Thread.interrupted();
                try {
                    next = step();
                } catch (Throwable e) {
                    Faults.report(log, "a connection broke", e);
                    closing = Close.BROKEN;
                    next = State.CLOSED;
                }
                if (next == State.AWAIT_WRITABLE) {
                    stuckSince = clock.now();
                    connections.stalls.accept(WriteStall.WAITED);
                }
                if (next == State.CLOSED) {
                    state.set(State.CLOSED);
                    end(closing == null ? Close.BROKEN : closing);
                } else if (next != State.RUNNING && !state.compareAndSet(State.RUNNING, next)) {
                    // somebody has asked the holder to look again
                    state.set(State.RUNNING);
                    exhausted = false;
                    next = State.RUNNING;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
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
        state.compareAndSet(State.AWAIT_WRITABLE, State.IDLE);
        wake();
    }

    @Override
    public void onBroken() {
        abort();
    }

    @Override
    public void abort() {
        broken = true;
        wake();
        // nobody looks while it waits until the container takes more
        if (state.compareAndSet(State.AWAIT_WRITABLE, State.CLOSED)) {
            end(Close.BROKEN);
        }
    }

    @Override
    public void tick(long now) {
        framing.tick(now - openedAt);
        if (stuck()) {
            if (now - stuckSince >= connections.stall.toNanos()) {
                connections.stalls.accept(WriteStall.ENDED);
                log.debug("a connection made no progress for {} and is ended", connections.stall);
                abort();
            } else if (hurried && now - stuckSince >= HURRIED_NANOS) {
                abort();
            } else if (proof != null && now - stuckSince >= STUCK_NANOS) {
                proof.stuck();
            }
            return;
        }
        if (!headDue && !channel.begun() && state.get() != State.CLOSED && now - openedAt >= framing.headNanos()) {
            openWithoutEvents();
        }
        if (gathering && now - wroteAt >= SseChannel.GATHER_NANOS) {
            wakeHelper();
        }
        boolean old = maxAgeNanos > 0 && now - openedAt >= maxAgeNanos;
        boolean ages = !rotate && proof == null && (old || mayNotListen(now));
        if (ages) {
            rotate = true;
        }
        if (ages || heartbeatDue(now, wroteAt, proof != null && proof.wanted())) {
            wake();
        }
    }

    /**
     * Whether half a heartbeat has become due; for the clock.
     *
     * @param wanted whether a heartbeat is wanted before its time
     */
    boolean heartbeatDue(long now, long lastWrite, boolean wanted) {
        if (heartbeat == Heartbeat.NONE
                && (wanted || now - lastWrite >= framing.heartbeatNanos(connections.heartbeatNanos))) {
            heartbeat = Heartbeat.FIRST_DUE;
            return true;
        }
        if (heartbeat == Heartbeat.HALF_WRITTEN && now - lastWrite >= HALVES_APART_NANOS) {
            heartbeat = Heartbeat.SECOND_DUE;
            return true;
        }
        return false;
    }

    /** The head has waited long enough for events. */
    private void openWithoutEvents() {
        headDue = true;
        if (channel.neverBlocks()) {
            connections.openings.offer(this::wake);
        } else {
            wakeHelper();
        }
    }

    /** Has the pump run by a thread that may block. */
    private void wakeHelper() {
        if (!helped) {
            helped = true;
            boolean comes = channel.helpers().offer(() -> {
                helped = false;
                wake();
            });
            if (!comes) {
                helped = false;
            }
        }
    }

    /** Whether it waits until the container can take more. */
    private boolean stuck() {
        return state.get() == State.AWAIT_WRITABLE;
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
        if (unconfirmed && (ready || closing == null)) {
            // the close of the reader confirms what was written last
            confirm();
        }
        if (!ready && closing == null && !exhausted) {
            boolean gathers = !async && channel.gathers(clock.now() - wroteAt);
            ready = compose(headDue, rotate, gathers, channel.batch());
            gathering = !ready && frames.size() > 0;
        }
        if (ready) {
            return writeReady();
        }
        if (closing != null) {
            return State.CLOSED;
        }
        if (opened && !async && channel.mustNotBlock()) {
            goAsync();
            return State.RUNNING;
        }
        return State.IDLE;
    }

    /**
     * Composes up to a batch; false if there is nothing to write.
     *
     * @param due whether the opening is written though no event is there
     * @param rotates whether the connection is so old, or its client's token, that it shall end
     * @param gathers whether it keeps less than a batch for the next time, unless it asks the client something or is the end
     * @param batch how many bytes make a batch, at least 1
     */
    boolean compose(boolean due, boolean rotates, boolean gathers, int batch) {
        String position = opened ? "" : reader.position();
        StreamReader.Next next = reader.read(Math.max(1, batch - frames.size()));
        if (!opened) {
            if (unstored != null && next instanceof StreamReader.End end && end.reason() == EndReason.STORE_FAILED) {
                unstored.run();
                closing = Close.IN_ORDER;
                return false;
            }
            boolean early = next == StreamReader.Rest.REST && !due;
            if (early || !(next instanceof StreamReader.Events || reader.recorded())) {
                return false;
            }
            opened = true;
            framing.open(frames, connections.retryMillis, position);
        }
        while (add(next) && frames.size() < batch) {
            next = reader.read(batch - frames.size());
        }
        exhausted = next == StreamReader.Rest.REST;
        if (closing == null && rotates && (returnable || mayNotListen(clock.now()))) {
            finishHeartbeat();
            handOver(ROTATION_RETRY_MILLIS);
        }
        if (closing == null && heartbeat == Heartbeat.FIRST_DUE && frames.size() == 0) {
            frames.add(framing.heartbeat());
            heartbeat = Heartbeat.HALF_WRITTEN;
        } else if (closing == null && heartbeat == Heartbeat.SECOND_DUE) {
            finishHeartbeat();
        }
        if (frames.size() == 0 || (gathers && closing == null && !asks && frames.size() < batch)) {
            return false;
        }
        asks = false;
        return true;
    }

    /** Adds what was read; false if nothing can follow it now. */
    private boolean add(StreamReader.Next next) {
        if (next == StreamReader.Rest.REST) {
            return false;
        }
        finishHeartbeat();
        if (next instanceof StreamReader.Events events) {
            for (Event event : events.events()) {
                framing.add(frames, event, reader.position(event));
                asks |= EventKind.asks(event.kind());
            }
            returnable = proof == null && framing.resumable();
            if (framing.over()) {
                closing = Close.IN_ORDER;
            }
            return closing == null;
        }
        StreamReader.End end = (StreamReader.End) next;
        long retry = connections.retryMillis;
        switch (end.reason()) {
            case POLLING -> handOver(end.retry().map(Duration::toMillis).orElse(retry));
            case DRAINED, TAKEN_OVER ->
                handOver(retry + ThreadLocalRandom.current().nextLong(retry + 1));
            case SUPERSEDED -> closing = Close.BROKEN;
            default -> {
                frames.add(framing.ending());
                closing = Close.IN_ORDER;
            }
        }
        return false;
    }

    /** Something else is written now: it stands for the heartbeat, after the second half of one that has begun. */
    private void finishHeartbeat() {
        if (heartbeat == Heartbeat.HALF_WRITTEN || heartbeat == Heartbeat.SECOND_DUE) {
            frames.add(SECOND_HALF);
        }
        heartbeat = Heartbeat.NONE;
    }

    private void handOver(long retryMillis) {
        frames.add(framing.closing(retryMillis));
        closing = Close.HANDOVER;
    }

    /** Writes a slice at a time, so that a slow peer is seen to make progress. */
    private State writeReady() throws IOException {
        int remaining = frames.size();
        // what is too long for a blocking write goes ahead in part only once the head is due
        int size = async ? Math.min(remaining, SLICE_BYTES) : channel.mayWrite(remaining, closing != null, headDue);
        if (size > 0) {
            began = clock.now();
            ByteBuffer slice = frames.take(size);
            if (size == remaining) {
                ready = false;
                unconfirmed = true;
            }
            // the container keeps the last bytes of an answer that is whole until the response is complete
            flush = async || closing == null || ready;
            channel.write(slice, closing != null && !ready);
        } else if (channel.mustNotBlock()) {
            goAsync();
        } else {
            if (!channel.mayWaitHere()) {
                wakeHelper();
            }
            return State.IDLE;
        }
        return State.RUNNING;
    }

    private void goAsync() throws IOException {
        channel.leaveThread();
        async = channel.startAsync();
    }

    /** The last write is completed. */
    private void confirm() {
        unconfirmed = false;
        checked = false;
        wroteAt = clock.now();
        reader.wrote(began, wroteAt);
        if (proof != null) {
            proof.wrote(began, wroteAt);
        }
    }

    private void end(Close how) {
        connections.open.remove(this);
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

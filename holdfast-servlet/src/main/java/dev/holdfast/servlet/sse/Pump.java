package dev.holdfast.servlet.sse;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Who writes to a connection: one holder at a time. Who has news takes the pump, or tells its holder to look again. Safe for use by any
 * thread.
 *
 * <pre>
 *   IDLE     --taken by whoever has news-->          RUNNING
 *   RUNNING  --nothing left to write-->              IDLE
 *   RUNNING  --news while it runs-->                 AGAIN  --the holder looks again--> RUNNING
 *   RUNNING  --the container cannot take more-->     AWAIT_WRITABLE --onWritable--> RUNNING
 *   AWAIT_WRITABLE --stalled, superseded, broken-->  CLOSED
 *   RUNNING, IDLE  --end, broken-->                  CLOSED
 * </pre>
 */
final class Pump {
    /** What the pump does. */
    enum State {
        IDLE,
        RUNNING,
        AGAIN,
        AWAIT_WRITABLE,
        CLOSED
    }

    private final AtomicReference<State> state = new AtomicReference<>(State.IDLE);

    /** Takes the pump; false if its holder looks again, or nobody can write now. */
    boolean take() {
        while (true) {
            switch (state()) {
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

    /** Takes the pump since the container can take more; false if it did not wait for that. */
    boolean goOn() {
        return state.compareAndSet(State.AWAIT_WRITABLE, State.RUNNING);
    }

    /** Closes the pump if it waits for the container; false if it does not. */
    boolean closeStuck() {
        return state.compareAndSet(State.AWAIT_WRITABLE, State.CLOSED);
    }

    /** Gives the pump back; false if its holder has to look again. */
    boolean release(State next) {
        boolean released = state.compareAndSet(State.RUNNING, next);
        if (!released) {
            state.set(State.RUNNING);
        }
        return released;
    }

    /** Closes the pump, which the caller holds. */
    void close() {
        state.set(State.CLOSED);
    }

    boolean closed() {
        return state() == State.CLOSED;
    }

    /** Whether it waits until the container can take more. */
    boolean stuck() {
        return state() == State.AWAIT_WRITABLE;
    }

    private State state() {
        return Objects.requireNonNull(state.get());
    }
}

package dev.holdfast.mcp;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import reactor.core.Disposable;
import reactor.core.Disposables;

/**
 * What runs for a call. To give it up interrupts the thread of a synchronous handler, so it waits for as long as something is sent:
 * containers break a connection off on which an interrupted thread writes, and over HTTP+SSE that is the stream of the session.
 */
final class CallWork implements Disposable {
    /** Beside the number of threads that send: it ends when the last of them is done. */
    private static final int GIVEN_UP = 1 << 30;
    /** Beside that number: it has been ended, and whoever still sends does so in vain. */
    private static final int ENDED = 1 << 31;

    private final Disposable.Swap running = Disposables.swap();
    private final AtomicInteger sending = new AtomicInteger();

    void begin(Disposable subscription) {
        running.update(subscription);
    }

    /** Sends something of the call on this thread. */
    CompletionStage<Void> send(Supplier<CompletionStage<Void>> step) {
        sending.incrementAndGet();
        try {
            return step.get();
        } finally {
            if (sending.decrementAndGet() == GIVEN_UP && sending.compareAndSet(GIVEN_UP, ENDED)) {
                giveUp();
            }
        }
    }

    /** On this thread it would interrupt nobody, and a scheduler may be full of handlers that only an interrupt ends. */
    private void giveUp() {
        Thread thread = new Thread(null, running::dispose, "holdfast-cancel", 0, false);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void dispose() {
        if (sending.getAndUpdate(CallWork::givenUp) == 0) {
            running.dispose();
        }
    }

    private static int givenUp(int state) {
        if (state == 0) {
            return ENDED;
        }
        return state < 0 ? state : state | GIVEN_UP;
    }

    @Override
    public boolean isDisposed() {
        return running.isDisposed();
    }
}

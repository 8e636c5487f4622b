package dev.holdfast.mcp;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Schedulers;

/**
 * What runs for a call. To give it up interrupts the thread of a synchronous handler, so it waits for as long as something is sent:
 * containers break a connection off on which an interrupted thread writes, and over HTTP+SSE that is the stream of the session.
 *
 * <p>It sees the errors that Reactor tells nobody: one that it holds for fatal ends a scheduler's task, and no signal follows. Those of
 * the tasks that are scheduled while the call is subscribed are seen, such as the task that runs the handler of a synchronous server.
 */
final class CallWork implements Disposable {
    /** Beside the number of threads that send: it ends when the last of them is done. */
    private static final int GIVEN_UP = 1 << 30;
    /** Beside that number: it has been ended, and whoever still sends does so in vain. */
    private static final int ENDED = 1 << 31;

    private static final ThreadLocal<@Nullable CallWork> SUBSCRIBED = new ThreadLocal<>();

    static {
        // one for each class loader; where no call is being subscribed it costs a look at a thread-local
        String name = CallWork.class.getName() + "@" + System.identityHashCode(CallWork.class);
        Schedulers.onScheduleHook(name, CallWork::watched);
    }

    private final AtomicReference<@Nullable Consumer<Error>> fatal;
    private final Disposable.Swap running = Disposables.swap();
    private final AtomicInteger sending = new AtomicInteger();

    /**
     * Runs nothing yet.
     *
     * @param fatal hears of the first error that is fatal to Reactor
     */
    CallWork(Consumer<Error> fatal) {
        this.fatal = new AtomicReference<>(fatal);
    }

    /** Subscribes on this thread. */
    void begin(Supplier<Disposable> subscription) {
        CallWork outer = SUBSCRIBED.get();
        SUBSCRIBED.set(this);
        try {
            running.update(subscription.get());
        } catch (VirtualMachineError | LinkageError e) {
            tell(e);
        } finally {
            SUBSCRIBED.set(outer);
        }
    }

    /** The call has ended. Of what it has left behind nothing is heard, and the call does not stay in memory with it. */
    void over() {
        fatal.set(null);
    }

    private void tell(Error error) {
        Consumer<Error> told = fatal.getAndSet(null);
        if (told != null) {
            told.accept(error);
        }
    }

    private static Runnable watched(Runnable task) {
        CallWork work = SUBSCRIBED.get();
        return work == null ? task : () -> work.run(task);
    }

    private void run(Runnable task) {
        try {
            task.run();
        } catch (VirtualMachineError | LinkageError e) {
            tell(e);
            throw e;
        }
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

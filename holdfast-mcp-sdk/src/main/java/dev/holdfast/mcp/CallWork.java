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
 * What runs for a call. Disposing it interrupts the thread of a synchronous handler. A container breaks off a connection on which an
 * interrupted thread writes, over HTTP+SSE the stream of the whole session: so disposal waits while a thread sends something.
 *
 * <p>Reactor signals nothing when a task of a scheduler ends with an error that it calls fatal, such as a {@link LinkageError}. This
 * class sees such errors of the tasks that are scheduled while the call is subscribed; the handler of a synchronous server is one.
 */
final class CallWork implements Disposable {
    /** Added to the number of threads that send: the last of them ends the work. */
    private static final int GIVEN_UP = 1 << 30;
    /** Added to that number: the work has been ended. */
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

    /** The call has ended: tasks that it left behind report nothing, and do not keep the call in memory. */
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

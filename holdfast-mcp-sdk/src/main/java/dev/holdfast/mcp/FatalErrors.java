package dev.holdfast.mcp;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Schedulers;

/**
 * The errors of a call that Reactor tells nobody: one that it holds for fatal ends a scheduler's task, and no signal follows. Those of
 * the tasks that are scheduled while the call is subscribed are seen here, such as the task that runs the handler of a synchronous
 * server.
 */
final class FatalErrors {
    private static final ThreadLocal<@Nullable FatalErrors> SUBSCRIBED = new ThreadLocal<>();

    static {
        // one for each class loader; where no call is being subscribed it costs a look at a thread-local
        String name = FatalErrors.class.getName() + "@" + System.identityHashCode(FatalErrors.class);
        Schedulers.onScheduleHook(name, FatalErrors::watched);
    }

    private final AtomicReference<@Nullable Consumer<Error>> call;

    /**
     * @param call hears of the first such error
     */
    FatalErrors(Consumer<Error> call) {
        this.call = new AtomicReference<>(call);
    }

    /** Subscribes on this thread. */
    Disposable of(Supplier<Disposable> subscription) {
        FatalErrors outer = SUBSCRIBED.get();
        SUBSCRIBED.set(this);
        try {
            return subscription.get();
        } catch (VirtualMachineError | LinkageError e) {
            tell(e);
            return Disposables.disposed();
        } finally {
            SUBSCRIBED.set(outer);
        }
    }

    /** The call has ended. What it has left behind is its own, and does not keep it in memory. */
    void over() {
        call.set(null);
    }

    private void tell(Error error) {
        Consumer<Error> told = call.getAndSet(null);
        if (told != null) {
            told.accept(error);
        }
    }

    private static Runnable watched(Runnable task) {
        FatalErrors errors = SUBSCRIBED.get();
        return errors == null ? task : () -> errors.run(task);
    }

    private void run(Runnable task) {
        try {
            task.run();
        } catch (VirtualMachineError | LinkageError e) {
            tell(e);
            throw e;
        }
    }
}

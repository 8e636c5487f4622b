package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.StreamReader;
import java.util.Optional;
import java.util.concurrent.Executor;

/** A call that another node runs: here it is only read. */
record RemoteCall(Optional<StreamReader> reader) implements Call {
    /** Nothing of it is here. */
    @Override
    public void whenOver(Runnable task) {
        task.run();
    }

    /** The other node has handed it to its backend. */
    @Override
    public void dispatch(Executor caller) {
        caller.execute(() -> {});
    }
}

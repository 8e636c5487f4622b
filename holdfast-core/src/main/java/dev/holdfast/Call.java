package dev.holdfast;

import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** One POSTed request, or batch of them, on its way through the backend. It outlives connections. */
public interface Call {
    /**
     * The reader of this call's stream, from its start. Attached from the beginning, so that nothing is missed. Empty in a
     * session that {@link Session#listensOnly}: there the answers go to the listening stream.
     */
    Optional<StreamReader> reader();

    /**
     * Hands the requests to the backend, on this thread if the backend is there, else on the one that has brought it. Call it once,
     * when the reader's connection is ready, if there is one.
     */
    default void dispatch() {
        dispatch(Runnable::run);
    }

    /**
     * Hands the requests to the backend as soon as it is there. Called once in the place of {@link #dispatch()}.
     *
     * @param caller gets exactly one task: it calls the backend, and may run handlers to their end. Where the backend does not come,
     *     the task does nothing
     */
    void dispatch(Executor caller);

    /** The name of its stream in its session, see {@link Session#kept}. */
    StreamId stream();

    /**
     * Appends a note ({@link dev.holdfast.spi.EventKind#NOTE}) to the call's stream, where whoever reads that finds it.
     *
     * @return completes at the commit with true; with false where nothing is appended, since every request has its answer, the session has
     *     ended, or the call runs on another node. Fails where the store failed
     */
    CompletionStage<Boolean> note(byte[] note);

    /**
     * Runs something when no request of the call is running any more, at once if that is so. Called once. The task may run on any thread,
     * and must not block.
     */
    void whenOver(Runnable task);

    /**
     * Whether a request of it was given up before its backend had answered, or may have been: the backend may still send something for it.
     * Asked when no request of the call is running any more.
     */
    boolean givenUp();

    /** How opening a call ended. */
    sealed interface Outcome {}

    /**
     * The call is taken: it stands in the log, or will before its reader is {@link StreamReader#recorded}.
     *
     * @param call the call
     */
    record Accepted(Call call) implements Outcome {}

    /**
     * The id stands twice in the batch; or a request with it is in flight, in a session whose answers all come on one stream.
     *
     * @param id the id
     */
    record Duplicate(RequestId id) implements Outcome {}

    /**
     * The session, or the engine, takes no such call now.
     *
     * @param reason why
     */
    record Refused(Refusal reason) implements Outcome {}

    /**
     * The session has ended.
     *
     * @param reason why
     */
    record Closed(EndReason reason) implements Outcome {}

    /** The call was on its way to another node when this one lost touch with it: nobody knows whether it runs. */
    record Undecided() implements Outcome {
        /** What its client is told. */
        public static final String TEXT =
                "the nodes of the server lost touch while this call was handed over; whether it had any effect is not known";
    }
}

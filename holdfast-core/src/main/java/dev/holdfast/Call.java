package dev.holdfast;

import dev.holdfast.spi.RequestId;
import java.util.Optional;

/** One POSTed request, or batch of them, on its way through the backend. It outlives connections. */
public interface Call {
    /**
     * The reader of this call's stream, from its start. Attached from the beginning, so that nothing is missed. Empty in a
     * session that {@link Session#listensOnly}: there the answers go to the listening stream.
     */
    Optional<StreamReader> reader();

    /**
     * Hands the requests to the backend, on this thread if the backend is there, else as soon as it is. Call it once, when
     * the reader's connection is ready, if there is one.
     */
    void dispatch();

    /** How opening a call ended. */
    sealed interface Outcome {}

    /**
     * The call is in the log.
     *
     * @param call the call
     */
    record Accepted(Call call) implements Outcome {}

    /**
     * A request with this id is in flight already, or stands twice in the batch.
     *
     * @param id the id
     */
    record Duplicate(RequestId id) implements Outcome {}

    /**
     * Too many calls of this session run.
     *
     * @param limit how many may
     */
    record TooMany(int limit) implements Outcome {}

    /**
     * The call would make the session's journal (its subscriptions, above all) outgrow the session's limits.
     */
    record JournalFull() implements Outcome {}

    /**
     * The session has ended, or takes no calls any more.
     *
     * @param reason why
     */
    record Closed(EndReason reason) implements Outcome {}
}

package dev.holdfast;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * One client's conversation with one backend, as the edge uses it. Get one from {@code SessionEngine.find} for each request
 * and do not keep it. Safe for use by any thread; nothing here blocks.
 */
public interface Session {
    /** The session id, a credential: {@link #shortId} is for logs. */
    String id();

    /** The first eight characters of the id. */
    String shortId();

    /** The negotiated protocol revision; empty before {@code initialize} is answered. */
    String revision();

    /** What sort of session it is, as its record says: which protocol serves it. See {@link SessionRecord#SESSION} and those beside it. */
    String kind();

    /**
     * Whether everything goes to the listening stream, the answers to calls too, as over HTTP+SSE. Else every call has a
     * stream of its own.
     */
    default boolean listensOnly() {
        return kind().equals(SessionRecord.LISTENING_SESSION);
    }

    /** Where the session is in its life. */
    SessionState state();

    /**
     * Opens a call, with a reader attached to its stream, where it has one of its own.
     *
     * @param requests one request, or those of a batch
     * @return completes when the call is taken, or refused: at once where its stream is its own and the store works, else when
     *     the call is in the log; fails if the store failed
     */
    CompletionStage<Call.Outcome> call(List<InboundMessage> requests);

    /**
     * Hands a notification to the backend; {@code notifications/cancelled} goes to {@link #cancel} instead.
     *
     * @return completes when it is taken, and in the journal if it belongs there; or with the reason why it is not. Fails if
     *     the store failed
     */
    CompletionStage<Optional<Refusal>> notify(InboundMessage notification);

    /**
     * Hands the client's answer to the backend that asked.
     *
     * @return completes with whether the backend waited for it; with false the answer was dropped, because nobody asked or the
     *     question was answered before. At once if the session is in this process; another node may have to be asked later.
     *     Fails if the store or that node could not be reached: then it is unknown whether the backend has the answer
     */
    CompletionStage<Boolean> answer(InboundMessage response);

    /**
     * Cancels a request, of several with this id the newest; the stream of its call ends without a response. Without such a request
     * nothing happens. Each node cancels the newest of its own, so that of calls with one id on several nodes more than one may end.
     *
     * @return completes when the call is cancelled or found to be absent: at once if it runs in this process, or no other node can have
     *     the session; else when the other nodes have been told. Where a backend exists once, they are told in any case: the stage waits
     *     for them also when the call runs here. Fails if the store or one of them could not be reached, or takes no more: then the call
     *     may go on, or another node may run it
     */
    CompletionStage<Void> cancel(RequestId request, InboundMessage notification);

    /**
     * Attaches to the listening stream at the first event that is not confirmed.
     *
     * @return completes at once if the session is in this process; another node may have to be asked later. Fails if the store or
     *     that node could not be reached: then no reader is attached
     */
    CompletionStage<Resume> listen();

    /**
     * Attaches to a stream after an event that the client has.
     *
     * @return as {@link #listen} does
     */
    CompletionStage<Resume> resume(EventId after);

    /**
     * What is kept of a stream, whoever reads it; changes nothing.
     *
     * @return completes at once if the stream is written in this process; empty if there is no such stream. Fails if the store failed
     */
    CompletionStage<Optional<KeptStream>> kept(StreamId stream);

    /**
     * Whether it must keep so much that what follows may find no room: a quarter of {@code sessionBytes}, as far as this process knows.
     */
    boolean crowded();

    /**
     * What is kept of a stream.
     *
     * @param events its committed events, in order, but for questions that are known to be answered
     * @param complete whether none will follow
     */
    record KeptStream(List<Event> events, boolean complete) {}

    /**
     * Ends the session for good.
     *
     * @return completes when the store does not have it any more; fails if the store could not say so yet
     */
    CompletionStage<Void> terminate();
}

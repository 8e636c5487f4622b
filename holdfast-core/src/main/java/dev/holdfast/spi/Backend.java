package dev.holdfast.spi;

import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * What answers: an SDK server in this JVM, a stdio process, an HTTP upstream. A backend opens one connection per session, and
 * a fresh one whenever a session is restored.
 */
public interface Backend {
    /**
     * Opens a connection and carries the {@code initialize} request to it. Called on any thread,
     * without a lock.
     *
     * <p>The stage never stays open: a backend that cannot start, or stays mute, answers with {@link Unreachable} in a time
     * of its own. A stage that fails, or an exception, is a fault of the backend and is reported to the client as an internal error.
     *
     * @param request the {@code initialize} request and for whom it is
     * @param sink where the connection sends what belongs to no call; it may be used before the stage completes
     */
    CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink);

    /**
     * Whether a request may be run a second time if the process dies while it runs, and nobody can tell how far it came. What
     * is not known to be harmless must not. Asked when the call starts, on the thread that brought it; must not block.
     *
     * @param principal who asks, empty for nobody
     */
    default boolean mayBeRerun(InboundMessage request, String principal) {
        return false;
    }

    /**
     * Whether a call runs on the thread that makes it, and expects to find there what belongs to its request, such as thread-locals
     * that a filter has set. Then each call is made on the thread that brought its request, which waits for that as long as it
     * takes to read the request, to store its start and to restore the session. A call whose process has died has no such thread any
     * more, and is not run again. Always the same answer; must not block.
     */
    default boolean executesImmediately() {
        return false;
    }

    /**
     * Whether a connection is opened only for a message of the client, whose context comes with the {@code initialize} request. Where not,
     * the connection of a session that comes back from the store is opened at once, without a context. Always the same answer; must
     * not block.
     */
    default boolean needsContext() {
        return false;
    }

    /**
     * How many bytes of memory a request takes, with its body, until it is answered. Requests that together would take more than there is
     * are refused before they reach the backend. At least the bytes; grows with both; must not block.
     *
     * @param bytes how many bytes its body has
     * @param tokens how many JSON tokens are in it, 0 while that is not known
     */
    default long requestMemory(long bytes, long tokens) {
        return 2 * bytes;
    }

    /**
     * How many connections there may be at once, those included that are being opened or closed. Where there are as many, the
     * connection of a session ends that is detached or idle for longest and runs no call, and another is opened when that session is
     * used again. At least 1, always the same answer; must not block.
     */
    default int mostConnections() {
        return Integer.MAX_VALUE;
    }

    /**
     * Whether a session has one connection to this backend in a whole cluster, like a child process that holds state of its own. Then it
     * is opened on one node, requests that reach other nodes are sent to that one, without their
     * {@link InboundMessage#context context}, and when that node dies the next one that is asked opens a fresh one. Otherwise each node
     * that a session's requests reach opens one, in the state that the session's journal gives it. Always the same answer; must not
     * block. Without meaning where no other node shares the store.
     */
    default boolean existsOnce() {
        return false;
    }

    /**
     * The values of a connection.
     *
     * @param initialize the {@code initialize} request, with the context of the message that the connection is opened for, if there is one
     * @param principal who opened the session, empty for nobody
     * @param incarnation names this life of the session's backend; no two lives of one session share it
     * @param restores whether the session has had a connection before: its client opens nothing, and goes on with what it knows
     */
    record OpenRequest(InboundMessage initialize, String principal, String incarnation, boolean restores) {}

    /** How opening ended. */
    sealed interface Outcome {}

    /**
     * The backend accepted the session.
     *
     * @param connection the way to it
     * @param response the {@code initialize} response for the client
     * @param revision the protocol revision in that response
     * @param sessionId the session id the backend proposes, if it made one: visible ASCII, unpredictable, never used before; the opening
     *     fails if it is taken. Not read where a session is restored
     * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management">MCP transports,
     *     session management</a>
     */
    record Opened(BackendConnection connection, OutboundMessage response, String revision, Optional<String> sessionId)
            implements Outcome {}

    /**
     * The backend refused it, and leaves nothing behind.
     *
     * @param response the JSON-RPC error response for the client
     */
    record Refused(OutboundMessage response) implements Outcome {}

    /**
     * The backend could not be asked, and leaves nothing behind. Another attempt may succeed.
     *
     * @param response the JSON-RPC error response for the client
     * @param cause the same as a short phrase, for requests that wait for this backend
     */
    record Unreachable(OutboundMessage response, String cause) implements Outcome {}

    /**
     * The backend serves as many as it may, and leaves nothing behind. Another attempt may succeed a little later: the client is told
     * to come back, and nothing of its request was done.
     *
     * @param response the JSON-RPC error response, where the client cannot be told otherwise
     * @param cause the same as a short phrase, for requests that wait for this backend
     */
    record Busy(OutboundMessage response, String cause) implements Outcome {}
}

package dev.holdfast.client;

import dev.holdfast.client.wire.HttpExchange;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** What carries the answer to one message: the connection of its POST, and those that resume the stream which began on it. Thread-safe. */
final class Carrier {
    /** How long a server may keep a stream open behind the response that it was for. */
    private static final long LINGER_MILLIS = 5_000;

    private final Link link;
    private volatile StreamLoop stream;
    private volatile @Nullable HttpExchange post;
    private volatile @Nullable Future<?> deadline;

    /** Nothing was sent. */
    Carrier(Link link, StreamLoop unopened) {
        this.link = link;
        this.stream = unopened;
    }

    /** The message is about to be sent, once more perhaps, and this stream may begin with it. */
    void prepare(StreamLoop unopened) {
        stream = unopened;
    }

    /** The message is on its way. */
    void sent(HttpExchange exchange) {
        post = exchange;
    }

    StreamLoop stream() {
        return stream;
    }

    /** Whether the message was ever on its way. */
    boolean begun() {
        return post != null;
    }

    /** Whether no connection is open. */
    boolean idle() {
        HttpExchange open = post;
        return open == null || (open.end().isDone() && stream.idle());
    }

    /** Ends the connections, so that the stream is resumed on another. */
    void interrupt() {
        stream.interrupt();
        endPost("the server was silent on another connection");
    }

    /** Gives the server a moment to end the connections itself. */
    void linger(Runnable late) {
        deadline = link.later(LINGER_MILLIS, late);
    }

    /** The server has ended them. */
    void ended() {
        Future<?> pending = deadline;
        if (pending != null) {
            pending.cancel(false);
        }
    }

    /** Ends the connections, and resumes nothing. */
    void abort() {
        ended();
        stream.stop();
        endPost("not wanted any more");
    }

    private void endPost(String reason) {
        HttpExchange open = post;
        if (open != null) {
            open.abort(reason);
        }
    }
}

package dev.holdfast.client;

import dev.holdfast.client.wire.HttpExchange;
import org.jspecify.annotations.Nullable;

/** What carries the answer to one message: the connection of its POST, and those that resume the stream which began on it. Thread-safe. */
final class Carrier {
    private volatile StreamLoop stream;
    private volatile @Nullable HttpExchange post;

    /** Nothing was sent. */
    Carrier(StreamLoop unopened) {
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

    /** Ends the connections, and resumes nothing. */
    void abort() {
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

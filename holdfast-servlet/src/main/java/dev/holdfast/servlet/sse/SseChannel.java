package dev.holdfast.servlet.sse;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What a connection needs of an HTTP response, and the only way it knows one. For the one thread that holds the connection's
 * pump; after {@link #complete} nothing may be called any more.
 */
public interface SseChannel {
    /** Writes bytes of an array; until {@link #startAsync} this may block for them. */
    void write(ByteBuffer bytes) throws IOException;

    /** Pushes out what was written. */
    void flush() throws IOException;

    /**
     * Writes the last bytes of the response, before {@link #startAsync} only: the container sends them as it likes best when the
     * response is completed.
     */
    void writeLast(ByteBuffer bytes) throws IOException;

    /**
     * From here on nothing blocks: {@link #ready} tells whether a write or flush may follow.
     *
     * @return false where the response knows only writes that block: a filter has put a stream of its own before the container's
     */
    boolean startAsync() throws IOException;

    /** Whether the last write or flush is completed; if not, {@link Events#onWritable} will be called. */
    boolean ready() throws IOException;

    /** Throws if the last flush failed and the container has not reported it yet. Counts as a write of no bytes. */
    void check() throws IOException;

    /** Keeps the response open when the request's thread returns, unless it is complete; for that thread. */
    void leaveThread();

    /** Ends the response: where the request's thread is there still, when it returns. */
    void complete();

    /** Frees the socket of a peer that is stuck, before {@link #complete}: a container that closes it would wait for the peer. */
    void reset();

    /** What the container reports, on its threads. */
    interface Events {
        /** Writing may go on. */
        void onWritable();

        /** The connection is broken, or the container has ended the response. */
        void onBroken();
    }
}

package dev.holdfast.client.wire;

import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;

/** The body of a request, which knows whether anybody has begun to send it: nobody acts on a message whose body was not sent. */
public final class MarkedBody implements BodyPublisher {
    private final byte[] bytes;
    private volatile boolean sent;

    /** A body that was not sent. */
    public MarkedBody(byte[] bytes) {
        this.bytes = bytes;
    }

    /** What it is; not to be changed. */
    public byte[] bytes() {
        return bytes;
    }

    /** Says whether some of it may have been sent. */
    public void mark(boolean begun) {
        sent = begun;
    }

    /** Whether some of it may have been sent. */
    public boolean sent() {
        return sent;
    }

    @Override
    public long contentLength() {
        return bytes.length;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        sent = true;
        BodyPublishers.ofByteArray(bytes).subscribe(subscriber);
    }
}

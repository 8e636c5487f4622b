package dev.holdfast.client.wire;

import java.net.http.HttpRequest.BodyPublisher;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;

/** A request body that knows whether anybody has begun to send it: nobody acts on a message whose body was not sent. */
public final class SentMark implements BodyPublisher {
    private final BodyPublisher body;
    private volatile boolean sent;

    /** Marks this body. */
    public SentMark(BodyPublisher body) {
        this.body = body;
    }

    boolean sent() {
        return sent;
    }

    @Override
    public long contentLength() {
        return body.contentLength();
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        sent = true;
        body.subscribe(subscriber);
    }
}

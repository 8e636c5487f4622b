package dev.holdfast.upstream;

import dev.holdfast.client.wire.MarkedBody;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLHandshakeException;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.io.Content;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request, in one part: it is written together with the head. It counts as sent from the moment when a connection takes it,
 * unless that one's first write or its TLS handshake fails: then none of it has left.
 */
final class JettyRequestBody implements Request.Content {
    private final MarkedBody body;
    private final ByteBuffer bytes;
    private volatile @Nullable Thread writer;

    JettyRequestBody(MarkedBody body) {
        this.body = body;
        this.bytes = ByteBuffer.wrap(body.bytes());
    }

    @Override
    public long getLength() {
        return body.contentLength();
    }

    @Override
    public Content.Chunk read() {
        if (writer != null) {
            return Content.Chunk.EOF;
        }
        writer = Thread.currentThread();
        body.mark(true);
        return Content.Chunk.from(bytes, true);
    }

    @Override
    public void demand(Runnable demandCallback) {
        demandCallback.run();
    }

    @Override
    public void fail(Throwable failure) {
        // on the thread that writes it is certain that nothing is being written meanwhile
        boolean refused = writer == Thread.currentThread() && bytes.position() == 0;
        if (refused || failure instanceof SSLHandshakeException) {
            body.mark(false);
        }
    }
}

package dev.holdfast.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads a request's body without ever waiting for it on a thread. */
final class BodyReader {
    private static final Logger log = LoggerFactory.getLogger(BodyReader.class);
    private static final int CHUNK = 8 << 10;

    private final int limit;

    BodyReader(int limit) {
        this.limit = limit;
    }

    /**
     * Reads the whole body, and hands it over on this thread if it has arrived already, else on the container's.
     *
     * @param whole gets the body
     * @param rejected gets the reason why there is none
     */
    void read(
            HttpServletRequest request,
            HttpServletResponse response,
            Consumer<byte[]> whole,
            Consumer<Rejection> rejected)
            throws IOException {
        ServletInputStream in = request.getInputStream();
        int length = request.getContentLength();
        ByteArrayOutputStream start = arrived(in, Math.min(length, limit));
        if (start.size() == length) {
            whole.accept(start.toByteArray());
            return;
        }
        AsyncContext context = request.startAsync(request, response);
        context.setTimeout(0);
        in.setReadListener(new Arrival(in, start, whole, rejected));
    }

    /** What has come with the head, so that it needs no other thread. Tomcat tells first that something is there, then how much. */
    private static ByteArrayOutputStream arrived(ServletInputStream in, int most) throws IOException {
        byte[] chunk = new byte[Math.max(0, Math.min(most, CHUNK))];
        ByteArrayOutputStream start = new ByteArrayOutputStream(chunk.length);
        // a read of nothing would wait for something in Tomcat
        while (start.size() < most && in.available() > 0) {
            int count = in.read(chunk, 0, Math.min(chunk.length, most - start.size()));
            if (count < 0) {
                break;
            }
            start.write(chunk, 0, count);
        }
        return start;
    }

    /** A body that arrives bit by bit. */
    private final class Arrival implements ReadListener {
        private final ServletInputStream in;
        private final ByteArrayOutputStream body;
        private final Consumer<byte[]> whole;
        private final Consumer<Rejection> rejected;
        private boolean done;

        private Arrival(
                ServletInputStream in,
                ByteArrayOutputStream body,
                Consumer<byte[]> whole,
                Consumer<Rejection> rejected) {
            this.in = in;
            this.body = body;
            this.whole = whole;
            this.rejected = rejected;
        }

        @Override
        public void onDataAvailable() throws IOException {
            byte[] chunk = new byte[CHUNK];
            while (!done && in.isReady()) {
                int count = in.read(chunk);
                if (count < 0) {
                    return;
                }
                body.write(chunk, 0, count);
                if (body.size() > limit) {
                    done = true;
                    rejected.accept(Rejection.tooLarge(limit));
                }
            }
        }

        @Override
        public void onAllDataRead() {
            if (!done) {
                done = true;
                whole.accept(body.toByteArray());
            }
        }

        @Override
        public void onError(Throwable failure) {
            log.debug("a request body broke off: {}", failure.toString());
            if (!done) {
                done = true;
                rejected.accept(Rejection.brokenBody());
            }
        }
    }
}

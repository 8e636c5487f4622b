package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Locale;

/** Follows the bytes of one HTTP/1.1 response just closely enough to see its end. */
public final class ResponseParser {
    private enum Part {
        HEAD,
        BODY,
        CHUNK_SIZE,
        CHUNK,
        CHUNK_END,
        TRAILER,
        DONE
    }

    private static final int CRLF = 2;

    private final ByteArrayOutputStream line = new ByteArrayOutputStream(256);
    private final ByteArrayOutputStream body = new ByteArrayOutputStream(512);
    private Part part = Part.HEAD;
    private int matched;
    private int left;
    private int status;

    /** Gets ready for the next response. */
    public void reset() {
        part = Part.HEAD;
        line.reset();
        body.reset();
        matched = 0;
        status = 0;
    }

    /** Takes bytes up to the response's end; returns whether it was reached. */
    public boolean feed(ByteBuffer bytes) {
        while (bytes.hasRemaining() && part != Part.DONE) {
            switch (part) {
                case BODY, CHUNK, CHUNK_END -> pass(bytes);
                default -> step(bytes.get());
            }
        }
        return part == Part.DONE;
    }

    public int status() {
        return status;
    }

    public ByteArrayOutputStream body() {
        return body;
    }

    private void pass(ByteBuffer bytes) {
        int count = Math.min(left, bytes.remaining());
        if (part != Part.CHUNK_END) {
            body.write(bytes.array(), bytes.arrayOffset() + bytes.position(), count);
        }
        bytes.position(bytes.position() + count);
        left -= count;
        if (left == 0) {
            switch (part) {
                case BODY -> part = Part.DONE;
                case CHUNK -> {
                    part = Part.CHUNK_END;
                    left = CRLF;
                }
                default -> part = Part.CHUNK_SIZE;
            }
        }
    }

    /** A byte of the head, of a chunk's size, or of what follows the last chunk. */
    private void step(byte b) {
        line.write(b);
        if (part == Part.HEAD) {
            matched = b == (matched % 2 == 0 ? '\r' : '\n') ? matched + 1 : b == '\r' ? 1 : 0;
            if (matched == 2 * CRLF) {
                head(line.toString(ISO_8859_1));
                line.reset();
            }
        } else if (b == '\n') {
            String text = line.toString(ISO_8859_1).trim();
            line.reset();
            if (part == Part.TRAILER) {
                part = text.isEmpty() ? Part.DONE : Part.TRAILER;
            } else {
                left = Integer.parseInt(text, 16);
                part = left == 0 ? Part.TRAILER : Part.CHUNK;
            }
        }
    }

    private void head(String text) {
        String head = text.toLowerCase(Locale.ROOT);
        status = Integer.parseInt(head.substring(9, 12));
        int length = head.indexOf("\r\ncontent-length:");
        if (length >= 0) {
            int from = length + "\r\ncontent-length:".length();
            left = Integer.parseInt(
                    head.substring(from, head.indexOf('\r', from)).trim());
            part = left == 0 ? Part.DONE : Part.BODY;
        } else if (head.contains("\r\ntransfer-encoding: chunked")) {
            part = Part.CHUNK_SIZE;
        } else {
            throw new IllegalStateException("a response without an end: " + text);
        }
    }
}

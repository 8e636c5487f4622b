package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.List;

/**
 * A request on its way from good to bad: made as a client would make it, then changed by {@link HostileHeads} and {@link
 * HostileBodies}. Text stands for bytes, one character for each.
 */
final class HostileRequest {
    /** What the client does when it has written the request. */
    enum Ending {
        /** Reads the answer, and uses the connection again. */
        READ,
        /** Says that nothing more will come, and reads to the end of the connection. */
        HALF_CLOSE,
        /** Leaves by FIN. */
        FIN,
        /** Leaves by RST. */
        RST
    }

    /** What the head says of the body's length. */
    enum Length {
        RIGHT,
        CHUNKED,
        ABSENT,
        TOO_SMALL,
        TOO_LARGE,
        NEGATIVE,
        HUGE,
        NO_NUMBER,
        TWICE,
        TWO_LENGTHS,
        LENGTH_AND_CHUNKED,
        CHUNKED_BADLY,
        CHUNKED_ENDLESSLY,
        CHUNKED_TWICE,
        UNKNOWN_CODING
    }

    private static final String CRLF = "\r\n";

    final String name;
    final List<String> headers = new ArrayList<>();
    String method;
    String target;
    String version = "HTTP/1.1";
    String body;
    Length length = Length.RIGHT;
    Ending ending = Ending.READ;
    /** How much of it is written; 1 for all. */
    double share = 1;
    /** Whether the head is still one that a container must hand on. */
    boolean goodHead = true;

    HostileRequest(String name, String method, String target, String body) {
        this.name = name;
        this.method = method;
        this.target = target;
        this.body = body;
    }

    HostileRequest with(String header, String value) {
        headers.add(header + ": " + value);
        return this;
    }

    /** The head is now one that a container may answer itself, after which it may close or not understand what follows. */
    void spoilHead() {
        goodHead = false;
        end(Ending.HALF_CLOSE);
    }

    void end(Ending how) {
        if (ending == Ending.READ) {
            ending = how;
        }
    }

    /**
     * Whether nothing can follow it on its connection before its answer, for all the client knows. Tomcat (11.0.27) loses its
     * place when a chunked body is read asynchronously, by whatever servlet, and another request stands behind it already.
     */
    boolean last() {
        return ending != Ending.READ || method.equals("GET") || length == Length.CHUNKED;
    }

    byte[] bytes() {
        StringBuilder text = new StringBuilder(512 + body.length());
        text.append(method).append(' ').append(target);
        if (!version.isEmpty()) {
            text.append(' ').append(version);
        }
        text.append(CRLF);
        headers.forEach(line -> text.append(line).append(CRLF));
        appendLength(text);
        text.append(CRLF);
        appendBody(text);
        byte[] all = text.toString().getBytes(ISO_8859_1);
        return share < 1 ? java.util.Arrays.copyOf(all, (int) (all.length * share)) : all;
    }

    private void appendLength(StringBuilder text) {
        int size = body.length();
        switch (length) {
            case RIGHT -> {
                if (size > 0 || method.equals("POST")) {
                    length(text, size);
                }
            }
            case ABSENT -> {}
            case TOO_SMALL -> length(text, Math.max(0, size - 7));
            case TOO_LARGE -> length(text, size + 9);
            case NEGATIVE -> length(text, -1);
            case HUGE -> length(text, Long.MAX_VALUE).append("0");
            case NO_NUMBER -> text.append("Content-Length: 0x1F").append(CRLF);
            case TWICE -> length(length(text, size), size);
            case TWO_LENGTHS -> length(length(text, size), size + 1);
            case LENGTH_AND_CHUNKED -> coding(length(text, size), "chunked");
            case CHUNKED, CHUNKED_BADLY, CHUNKED_ENDLESSLY -> coding(text, "chunked");
            case CHUNKED_TWICE -> coding(text, "chunked, chunked");
            case UNKNOWN_CODING -> coding(text, "gzip, chunked");
        }
    }

    private static StringBuilder length(StringBuilder text, long size) {
        return text.append("Content-Length: ").append(size).append(CRLF);
    }

    private static void coding(StringBuilder text, String coding) {
        text.append("Transfer-Encoding: ").append(coding).append(CRLF);
    }

    private void appendBody(StringBuilder text) {
        switch (length) {
            case CHUNKED, LENGTH_AND_CHUNKED, CHUNKED_TWICE, UNKNOWN_CODING -> {
                int half = body.length() / 2;
                chunk(text, body.substring(0, half));
                chunk(text, body.substring(half));
                text.append("0\r\n\r\n");
            }
            case CHUNKED_BADLY -> {
                chunk(text, body);
                text.append("zz;=\r\n").append(body).append("\n0\r\n");
            }
            case CHUNKED_ENDLESSLY -> {
                chunk(text, body);
                text.append("7fffffff\r\n").append(body);
            }
            default -> text.append(body);
        }
    }

    private static void chunk(StringBuilder text, String data) {
        if (!data.isEmpty()) {
            text.append(Integer.toHexString(data.length()))
                    .append(CRLF)
                    .append(data)
                    .append(CRLF);
        }
    }

    /** All that a reader needs to send it again by hand. */
    @Override
    public String toString() {
        byte[] bytes = bytes();
        StringBuilder text =
                new StringBuilder(name).append(", then ").append(ending).append(":\n");
        int shown = Math.min(bytes.length, 3_000);
        for (int i = 0; i < shown; i++) {
            char c = (char) (bytes[i] & 0xFF);
            if (c == '\n') {
                text.append("\\n\n");
            } else if (c < ' ' || c > '~') {
                text.append(String.format("\\x%02X", (int) c));
            } else {
                text.append(c);
            }
        }
        return text.append(shown < bytes.length ? "... of " + bytes.length + " bytes" : "")
                .toString();
    }
}

package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Optional;

/**
 * One JSON-RPC message: its bytes, where in them the parts of the envelope lie, and the few values that decide its way. Made by
 * {@link EnvelopeReader} in one pass, without a tree. Immutable; the bytes are shared and must not be changed.
 *
 * <p>Spans count from the start of {@link #bytes()}. A value that is absent or of the wrong type is empty.
 */
public final class Envelope {
    /** The member of {@code params._meta} in which requests of revision 2026-07-28 and later name their revision. */
    public static final String MODERN_VERSION = "io.modelcontextprotocol/protocolVersion";

    private static final String INITIALIZE = "initialize";

    /** What a message is. */
    public enum Kind {
        /** Asks for an answer: has a method and an id. */
        REQUEST,
        /** Has a method and no id. */
        NOTIFICATION,
        /** Answers a request with a result. */
        RESPONSE,
        /** Answers a request with an error; without an id where the request's id could not be read. */
        ERROR
    }

    private final Kind kind;
    private final int tokens;
    private final byte[] bytes;
    private final Optional<RequestId> id;
    private final Span idSpan;
    private final String method;
    private final Span params;
    private final Span meta;
    private final Optional<RequestId> progressToken;
    private final Span progressTokenSpan;
    private final Optional<RequestId> cancelledRequest;
    private final Span cancelledRequestSpan;
    private final Optional<String> protocolVersion;
    private final Optional<String> modernVersion;
    private final Optional<String> uri;
    private final boolean task;

    /** The message that a scan found, in bytes of its own that begin where the scan's message began. */
    Envelope(EnvelopeScan scan, byte[] bytes) {
        this.kind = scan.kind();
        this.tokens = scan.tokens;
        this.bytes = bytes;
        this.id = scan.id;
        this.idSpan = scan.idSpan.relativeTo(scan.from);
        this.method = scan.method;
        this.params = scan.params.relativeTo(scan.from);
        this.meta = scan.meta.relativeTo(scan.from);
        boolean progress = is(Kind.NOTIFICATION, "notifications/progress");
        boolean request = kind == Kind.REQUEST;
        this.progressToken = progress ? scan.paramsToken : request ? scan.metaToken : Optional.empty();
        Span tokenSpan = progress ? scan.paramsTokenSpan : request ? scan.metaTokenSpan : Span.NONE;
        this.progressTokenSpan = tokenSpan.relativeTo(scan.from);
        boolean cancels = is(Kind.NOTIFICATION, "notifications/cancelled");
        this.cancelledRequest = cancels ? scan.requestId : Optional.empty();
        this.cancelledRequestSpan = (cancels ? scan.requestIdSpan : Span.NONE).relativeTo(scan.from);
        boolean initialize = method.equals(INITIALIZE);
        this.protocolVersion = initialize ? scan.paramsVersion : scan.resultVersion;
        this.modernVersion = scan.modernVersion;
        this.uri = scan.uri;
        this.task = scan.task;
    }

    /** What the message is. */
    public Kind kind() {
        return kind;
    }

    /** Exactly this message, as it came, without white space around it. */
    public byte[] bytes() {
        return bytes;
    }

    /** How many JSON tokens its values have that are no part of the envelope. */
    public int tokens() {
        return tokens;
    }

    /**
     * The message on one line: line ends, which in JSON can only be white space between tokens, become blanks. Returns
     * {@link #bytes()} itself where there are none.
     */
    public byte[] onOneLine() {
        for (int i = 0; i < bytes.length; i++) {
            if (isLineEnd(bytes[i])) {
                byte[] line = bytes.clone();
                for (int j = i; j < line.length; j++) {
                    line[j] = isLineEnd(line[j]) ? (byte) ' ' : line[j];
                }
                return line;
            }
        }
        return bytes;
    }

    /** The id of a request or response, in canonical spelling. Empty for a notification and for an error whose id is null. */
    public Optional<RequestId> id() {
        return id;
    }

    /** The method; empty for a response. */
    public String method() {
        return method;
    }

    /** Where the token of the id lies, be it null. */
    public Span idSpan() {
        return idSpan;
    }

    /** Where the object {@code params} lies. */
    public Span params() {
        return params;
    }

    /** Where the object {@code params._meta} lies. */
    public Span meta() {
        return meta;
    }

    /** The token under which a request wants progress, or the one that {@code notifications/progress} reports on. */
    public Optional<RequestId> progressToken() {
        return progressToken;
    }

    /** Where {@link #progressToken()} lies. */
    public Span progressTokenSpan() {
        return progressTokenSpan;
    }

    /** The request that {@code notifications/cancelled} gives up. */
    public Optional<RequestId> cancelledRequest() {
        return cancelledRequest;
    }

    /** Where {@link #cancelledRequest()} lies. */
    public Span cancelledRequestSpan() {
        return cancelledRequestSpan;
    }

    /** The revision that {@code initialize} asks for, or that the result of a response names. */
    public Optional<String> protocolVersion() {
        return protocolVersion;
    }

    /** The revision that {@code params._meta} names, as only clients of 2026-07-28 and later do. */
    public Optional<String> modernVersion() {
        return modernVersion;
    }

    /** The resource that {@code params.uri} names. */
    public Optional<String> uri() {
        return uri;
    }

    /** Whether a request asks to be run as a task, whose progress is told beyond the response. */
    public boolean asksForTask() {
        return task;
    }

    /**
     * Returns the message with another id, every other byte as it was.
     *
     * @throws IllegalStateException if the message has no id to replace
     */
    public byte[] withId(RequestId newId) {
        if (!idSpan.present()) {
            throw new IllegalStateException("a " + kind + " without an id cannot get another one");
        }
        return splice(idSpan, newId.token().getBytes(UTF_8));
    }

    /**
     * Returns the message with another progress token, every other byte as it was.
     *
     * @throws IndexOutOfBoundsException if the message has no token to replace
     */
    public byte[] withProgressToken(RequestId newToken) {
        return splice(progressTokenSpan, newToken.token().getBytes(UTF_8));
    }

    /**
     * Returns the message with a range of its bytes replaced; an empty range inserts.
     *
     * @param at where, within {@link #bytes()}
     * @param token what takes the place: JSON that fits there, which is not checked
     * @throws IndexOutOfBoundsException if the range is not within the message
     */
    public byte[] splice(Span at, byte[] token) {
        if (!at.present() || at.to() > bytes.length) {
            throw new IndexOutOfBoundsException(at + " in a message of " + bytes.length + " bytes");
        }
        int tail = bytes.length - at.to();
        byte[] spliced = new byte[at.from() + token.length + tail];
        System.arraycopy(bytes, 0, spliced, 0, at.from());
        System.arraycopy(token, 0, spliced, at.from(), token.length);
        System.arraycopy(bytes, at.to(), spliced, at.from() + token.length, tail);
        return spliced;
    }

    /**
     * The message as the engine takes it from a client.
     *
     * @param context what the edge attaches for the backend
     * @throws IllegalStateException if it is an error without an {@link #id()}: it answers nothing, so check first
     */
    public InboundMessage inbound(Object context) {
        return Conversion.inbound(this, context);
    }

    /**
     * The message as the engine takes it from a backend, {@linkplain #onOneLine() on one line}.
     *
     * @throws IllegalStateException if it is an error without an {@link #id()}: it answers nothing, so check first
     */
    public OutboundMessage outbound() {
        return Conversion.outbound(this);
    }

    /** Names the message without showing its content. */
    @Override
    public String toString() {
        String named = kind
                + (method.isEmpty() ? "" : " " + method)
                + id.map(known -> " " + known).orElse("");
        return named.replaceAll("[^\\x20-\\x7e]", "?");
    }

    private boolean is(Kind ofKind, String name) {
        return kind == ofKind && method.equals(name);
    }

    private static boolean isLineEnd(byte b) {
        return b == '\n' || b == '\r';
    }
}

package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One JSON-RPC message: its bytes and the few values that decide its way. Made by {@link EnvelopeReader} in one pass, without a tree; with
 * another id or token it is made from that, and not read again. Immutable; the bytes are shared and must not be changed. A value that is
 * absent or of the wrong type is empty.
 */
public final class Envelope {
    /** The member of {@code params._meta} in which requests of revision 2026-07-28 and later name their revision. */
    public static final String MODERN_VERSION = "io.modelcontextprotocol/protocolVersion";

    static final String CLIENT_INFO = "io.modelcontextprotocol/clientInfo";
    static final String CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
    static final String LOG_LEVEL = "io.modelcontextprotocol/logLevel";

    private static final String CANCELLED = "notifications/cancelled";

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
    /** The progress token, or the request that is cancelled. */
    private final EnvelopeScan.Named subject;

    private final Optional<String> protocolVersion;
    private final Optional<String> modernVersion;
    private final Span metaSpan;
    private final List<Span> claims;
    private final Optional<String> uri;
    private final Optional<String> name;
    private final boolean task;
    private final boolean retry;
    private final boolean inputs;

    /** The message that a scan has found in a body. */
    Envelope(EnvelopeScan scan, byte[] body) {
        this.kind = scan.kind();
        this.tokens = scan.tokens;
        this.bytes = scan.from == 0 && scan.to == body.length ? body : Arrays.copyOfRange(body, scan.from, scan.to);
        this.id = scan.id;
        this.idSpan = scan.from == 0 ? scan.idSpan : scan.idSpan.relativeTo(scan.from);
        this.method = scan.method;
        EnvelopeScan.Named named = kind == Kind.REQUEST
                ? scan.metaToken
                : is("notifications/progress")
                        ? scan.paramsToken
                        : is(CANCELLED) ? scan.requestId : EnvelopeScan.Named.NONE;
        this.subject = scan.from == 0
                ? named
                : new EnvelopeScan.Named(named.id(), named.span().relativeTo(scan.from));
        this.protocolVersion = method.equals("initialize") ? scan.paramsVersion : scan.resultVersion;
        this.modernVersion = scan.modernVersion;
        this.metaSpan = scan.from == 0 ? scan.metaSpan : scan.metaSpan.relativeTo(scan.from);
        this.claims = scan.claims.isEmpty()
                ? List.of()
                : scan.claims.stream().map(span -> span.relativeTo(scan.from)).toList();
        this.uri = scan.uri;
        this.name = scan.name;
        this.task = scan.task;
        this.retry = scan.retry;
        this.inputs = scan.inputs;
    }

    /** A message with one token replaced. */
    private Envelope(Envelope before, byte[] bytes, Optional<RequestId> id, Span idSpan, EnvelopeScan.Named subject) {
        this.kind = before.kind;
        this.tokens = before.tokens;
        this.bytes = bytes;
        this.id = id;
        this.idSpan = idSpan;
        this.method = before.method;
        this.subject = subject;
        this.protocolVersion = before.protocolVersion;
        this.modernVersion = before.modernVersion;
        this.metaSpan = Span.NONE;
        this.claims = List.of();
        this.uri = before.uri;
        this.name = before.name;
        this.task = before.task;
        this.retry = before.retry;
        this.inputs = before.inputs;
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
        byte[] line = bytes;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r') {
                line = line == bytes ? bytes.clone() : line;
                line[i] = ' ';
            }
        }
        return line;
    }

    /** The id of a request or response, in canonical spelling. Empty for a notification and for an error whose id is null. */
    public Optional<RequestId> id() {
        return id;
    }

    /** The method; empty for a response. */
    public String method() {
        return method;
    }

    /** The token of the id exactly as its sender wrote it, be it null; empty where there is none. */
    public Optional<String> spelledId() {
        return idSpan.present()
                ? Optional.of(new String(bytes, idSpan.from(), idSpan.length(), UTF_8))
                : Optional.empty();
    }

    /** The token under which a request wants progress, or the one that {@code notifications/progress} reports on. */
    public Optional<RequestId> progressToken() {
        return is(CANCELLED) ? Optional.empty() : subject.id();
    }

    /** The request that {@code notifications/cancelled} gives up. */
    public Optional<RequestId> cancelledRequest() {
        return is(CANCELLED) ? subject.id() : Optional.empty();
    }

    /** Where {@code params._meta} lies in a message as it was read, if it names a revision. */
    Span metaSpan() {
        return metaSpan;
    }

    /** Where the token of the id lies, be it null. */
    Span idSpan() {
        return idSpan;
    }

    /** Where the progress token or the id of the cancelled request lies. */
    Span subjectSpan() {
        return subject.span();
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

    /** The tool or prompt that {@code params.name} names, however long. */
    public Optional<String> name() {
        return name;
    }

    /** Whether a request asks to be run as a task, whose progress is told beyond the response. */
    public boolean asksForTask() {
        return task;
    }

    /** Whether a request brings answers to questions, its {@code inputResponses}. */
    public boolean bringsInputs() {
        return inputs;
    }

    /** Whether a request goes on with an earlier one, whose {@code requestState} it repeats. */
    public boolean retries() {
        return retry;
    }

    /**
     * Returns the message for a session of a revision before 2026-07-28: with white space where it says of itself in {@code params._meta}
     * what a session has said before; every other byte stays where it is.
     */
    public Envelope withoutClaims() {
        if (claims.isEmpty()) {
            return this;
        }
        byte[] blanked = bytes.clone();
        for (Span value : claims) {
            // back over the colon and the name, in which no quote can be
            int key = JsonBytes.last('"', blanked, JsonBytes.last('"', blanked, value.from() - 1) - 1);
            int next = JsonBytes.afterWhiteSpace(blanked, value.to());
            boolean another = blanked[next] == ',';
            int before = JsonBytes.beforeWhiteSpace(blanked, key - 1);
            boolean last = !another && blanked[before] == ',';
            Arrays.fill(blanked, last ? before : key, another ? next + 1 : value.to(), (byte) ' ');
        }
        return new Envelope(this, blanked, id, idSpan, subject);
    }

    /**
     * Returns the message with another id, every other byte as it was; the same object where it has that id.
     *
     * @throws IllegalStateException if the message has no id to replace
     */
    public Envelope withId(RequestId newId) {
        if (!idSpan.present()) {
            throw new IllegalStateException("a " + kind + " without an id cannot get another one");
        }
        if (id.filter(newId::equals).isPresent()) {
            return this;
        }
        byte[] token = newId.token().getBytes(UTF_8);
        return new Envelope(
                this,
                spliced(idSpan, token),
                Optional.of(newId),
                new Span(idSpan.from(), idSpan.from() + token.length),
                new EnvelopeScan.Named(subject.id(), subject.span().after(idSpan, token.length)));
    }

    /**
     * Returns the message with another progress token, every other byte as it was; the same object where it has that token.
     *
     * @throws IllegalStateException if the message has no token to replace
     */
    public Envelope withProgressToken(RequestId newToken) {
        return withSubject(progressToken(), newToken);
    }

    /**
     * Returns the message with the id of another request that is cancelled, every other byte as it was; the same object where it has that
     * id.
     *
     * @throws IllegalStateException if the message cancels no request
     */
    public Envelope withCancelledRequest(RequestId request) {
        return withSubject(cancelledRequest(), request);
    }

    private Envelope withSubject(Optional<RequestId> before, RequestId now) {
        if (before.orElseThrow(() -> new IllegalStateException(this + " names none"))
                .equals(now)) {
            return this;
        }
        byte[] token = now.token().getBytes(UTF_8);
        Span span = subject.span();
        return new Envelope(
                this,
                spliced(span, token),
                id,
                idSpan.after(span, token.length),
                new EnvelopeScan.Named(Optional.of(now), new Span(span.from(), span.from() + token.length)));
    }

    private byte[] spliced(Span at, byte[] token) {
        byte[] spliced = new byte[bytes.length - at.length() + token.length];
        System.arraycopy(bytes, 0, spliced, 0, at.from());
        System.arraycopy(token, 0, spliced, at.from(), token.length);
        System.arraycopy(bytes, at.to(), spliced, at.from() + token.length, bytes.length - at.to());
        return spliced;
    }

    /**
     * The message as the engine takes it from a client.
     *
     * @param context what the edge attaches for the backend
     * @throws IllegalStateException if it is an error without an {@link #id()}: it answers nothing, so check first
     */
    public InboundMessage inbound(Object context) {
        InboundMessage.Kind inbound = switch (kind) {
            case REQUEST -> InboundMessage.Kind.REQUEST;
            case NOTIFICATION -> InboundMessage.Kind.NOTIFICATION;
            case RESPONSE, ERROR -> InboundMessage.Kind.RESPONSE;
        };
        return new InboundMessage(inbound, answerableId(), method, bytes, journal(), context, this);
    }

    /**
     * The message as the engine takes it from a backend, {@linkplain #onOneLine() on one line}.
     *
     * @throws IllegalStateException if it is an error without an {@link #id()}: it answers nothing, so check first
     */
    public OutboundMessage outbound() {
        byte event = switch (kind) {
            case RESPONSE -> EventKind.RESPONSE;
            case ERROR -> EventKind.ERROR;
            case REQUEST -> method.equals("ping") ? EventKind.PING : EventKind.SERVER_REQUEST;
            case NOTIFICATION ->
                switch (method) {
                    case "notifications/progress" -> EventKind.PROGRESS;
                    case "notifications/message" -> EventKind.LOG;
                    default -> EventKind.NOTIFICATION;
                };
        };
        return new OutboundMessage(event, answerableId(), onOneLine());
    }

    private @Nullable RequestId answerableId() {
        if (kind == Kind.ERROR && id.isEmpty()) {
            throw new IllegalStateException("an error without an id answers no request");
        }
        return id.orElse(null);
    }

    /** What the message changes in the journal that a restored backend is given. */
    private JournalChange journal() {
        if (kind == Kind.NOTIFICATION) {
            return is("notifications/initialized") ? new JournalChange.Put(method) : JournalChange.NONE;
        }
        return switch (method) {
            case "logging/setLevel" -> new JournalChange.Put(method);
            case "resources/subscribe" ->
                subscription().<JournalChange>map(JournalChange.Put::new).orElse(JournalChange.NONE);
            case "resources/unsubscribe" ->
                subscription().<JournalChange>map(JournalChange.Remove::new).orElse(JournalChange.NONE);
            default -> JournalChange.NONE;
        };
    }

    private Optional<String> subscription() {
        return uri.map(named -> "resources/subscribe:" + named);
    }

    /** Names the message without showing its content. */
    @Override
    public String toString() {
        String named = kind
                + (method.isEmpty() ? "" : " " + method)
                + id.map(known -> " " + known).orElse("");
        return named.replaceAll("[^\\x20-\\x7e]", "?");
    }

    private boolean is(String notification) {
        return kind == Kind.NOTIFICATION && method.equals(notification);
    }

    /**
     * A range of bytes in a message.
     *
     * @param from index of the first byte, -1 for the span of what the message does not have
     * @param to index after the last byte
     */
    record Span(int from, int to) {
        static final Span NONE = new Span(-1, -1);

        boolean present() {
            return from >= 0;
        }

        int length() {
            return to - from;
        }

        /** These bytes of a message. */
        byte[] in(byte[] message) {
            return Arrays.copyOfRange(message, from, to);
        }

        /** The same bytes, counted from {@code origin} on. */
        Span relativeTo(int origin) {
            return !present() ? this : new Span(from - origin, to - origin);
        }

        /** Where these bytes lie when the bytes of another span were replaced by so many. */
        Span after(Span replaced, int length) {
            int moved = length - replaced.length();
            return from < replaced.to || moved == 0 ? this : new Span(from + moved, to + moved);
        }
    }
}

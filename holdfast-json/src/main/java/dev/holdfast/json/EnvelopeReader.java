package dev.holdfast.json;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.exc.UnexpectedEndOfInputException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonFactoryBuilder;

/**
 * Reads the envelope of JSON-RPC messages from bytes, in one pass and without a tree. The whole body is checked to be UTF-8 and
 * JSON, also where its content is of no interest here. How long a body may be is the caller's to bound. Safe for use by many
 * threads.
 *
 * <p>Stricter than JSON-RPC where MCP is: an id must be a string of at most 512 characters or an integer of at most 64 digits, a method
 * has 1 to 512 characters, {@code params} must be an object. Stricter than JSON where two readers of the same bytes could disagree: a
 * member that counts here may occur only once. More lenient in two points: a byte order mark is skipped, and {@code params} and {@code
 * error} may be null for absent, {@code result} too beside a method or an error. An escaped lone surrogate passes, in a member's name as
 * in any string.
 */
public final class EnvelopeReader {
    static final int DEFAULT_MAX_DEPTH = 200;
    static final int DEFAULT_MAX_BATCH = 100;
    static final int MAX_SERVER_DEPTH = 1000;
    private static final int MAX_ANSWERED = 1000;

    private final int maxDepth;
    private final int maxBatch;
    private volatile Parsers parsers;

    /** What a body turned out to be. */
    public sealed interface Parsed permits Single, Batch, Malformed {}

    /** The body is one message. */
    public record Single(Envelope message) implements Parsed {}

    /** The body is an array of messages, at least one; no two requests among them have the same id. */
    public record Batch(List<Envelope> messages) implements Parsed {
        public Batch {
            messages = List.copyOf(messages);
        }
    }

    /**
     * The body is no JSON, or no JSON-RPC. Nothing of it may be acted on, be one message of a batch ever so good.
     *
     * @param code {@link JsonRpc#PARSE_ERROR} or {@link JsonRpc#INVALID_REQUEST}
     * @param message what is wrong and where, in words for the sender
     * @param id the id of the request that is wrong, where it could be read
     */
    public record Malformed(int code, String message, Optional<RequestId> id) implements Parsed {}

    /** A reader of bodies that are nested up to 200 levels deep, a batch's array included, and hold up to 100 messages. */
    public EnvelopeReader() {
        this(DEFAULT_MAX_DEPTH, DEFAULT_MAX_BATCH);
    }

    /** A reader of what a server says, which may be nested 1,000 levels deep: what it answers is not the reader's to judge. */
    public static EnvelopeReader ofServer() {
        return new EnvelopeReader(MAX_SERVER_DEPTH, DEFAULT_MAX_BATCH);
    }

    EnvelopeReader(int maxDepth, int maxBatch) {
        this.maxDepth = maxDepth;
        this.maxBatch = maxBatch;
        this.parsers = new Parsers(maxDepth);
    }

    /** Returns the message or messages that the body consists of, or what is wrong with it. The body must not change afterwards. */
    public Parsed read(byte[] body) {
        int start = startsWithByteOrderMark(body) ? 3 : 0;
        int valid = JsonBytes.utf8End(body, start);
        if (valid < body.length) {
            return notJson("the body is not UTF-8 at byte " + valid);
        }
        return read(body, body, start);
    }

    /**
     * Returns the one message that a body is, which somebody has read before.
     *
     * @throws IllegalArgumentException if it is not one message
     */
    public Envelope message(byte[] body) {
        if (read(body) instanceof Single single) {
            return single.message();
        }
        throw new IllegalArgumentException("not one JSON-RPC message: " + body.length + " bytes");
    }

    /** Returns a client's message as its first reader has found it; reads it where it has come another way. */
    public Envelope message(InboundMessage message) {
        return message.parsed() instanceof Envelope envelope ? envelope : message(message.bytes());
    }

    /** Reads a text of as many bytes as the body, from which the messages are cut. */
    private Parsed read(byte[] text, byte[] body, int start) {
        Parsers source = parsers;
        JsonParser json = source.parser(text, start, text.length - start);
        EnvelopeScan scan = new EnvelopeScan(json, start);
        try {
            JsonToken first = json.nextToken();
            if (first == null) {
                return notJson("the body is empty");
            }
            Parsed parsed = first == JsonToken.START_ARRAY ? batch(json, scan, body) : single(scan, body);
            // not left to the parser, which closes itself when it meets the end
            int end = JsonBytes.afterWhiteSpace(body, scan.position());
            Parsers next = source.close(json, scan.longNames);
            if (next != source) {
                parsers = next;
            }
            return end < body.length ? notJson("the body goes on after its JSON at byte " + end) : parsed;
        } catch (JacksonException e) {
            byte[] passable = JsonBytes.withoutLoneSurrogatesInNames(text);
            if (passable != text) {
                return read(passable, body, start);
            }
            return notJson(complaint(e, json, scan.faultAt(e), body.length));
        }
    }

    /**
     * Returns the id of the request that a body is, whatever is wrong with it, or begins with, where there is only its start: as the
     * sender has spelled it, also null and one that is too long, but no more than 64 KiB. Empty where it cannot be told, and where the
     * body is a notification, an answer, a batch or does not say that it is JSON-RPC.
     */
    public Optional<RequestId> asked(byte[] body) {
        int start = JsonBytes.afterWhiteSpace(body, startsWithByteOrderMark(body) ? 3 : 0);
        return start < body.length && body[start] == '{' ? new RoughEnvelope(body, start).asked() : Optional.empty();
    }

    /**
     * Returns the ids of the requests that a body was to answer which {@linkplain Malformed cannot be read}, whatever is wrong with it: of
     * one message, a batch, or several messages one after another, at most 1,000. What has neither a method nor params nor an answer
     * may have been an answer too. Empty where none can be told.
     */
    public List<RequestId> answered(byte[] body) {
        Set<RequestId> answered = new LinkedHashSet<>();
        int at = startsWithByteOrderMark(body) ? 3 : 0;
        while (at < body.length && answered.size() < MAX_ANSWERED) {
            if (body[at] == '{') {
                RoughEnvelope message = new RoughEnvelope(body, at);
                message.answered().forEach(answered::add);
                at = message.end();
            } else if (JsonBytes.isWhiteSpace(body[at]) || body[at] == '[' || body[at] == ',') {
                at++;
            } else {
                break;
            }
        }
        return List.copyOf(answered);
    }

    private static Parsed single(EnvelopeScan scan, byte[] body) {
        scan.message();
        String fault = scan.fault();
        return fault.isEmpty()
                ? new Single(new Envelope(scan, body))
                : new Malformed(JsonRpc.INVALID_REQUEST, fault, scan.faultId());
    }

    /** Reads the array to its end even after a fault: whether the body is JSON at all comes first. */
    private Parsed batch(JsonParser json, EnvelopeScan scan, byte[] body) {
        List<Envelope> messages = new ArrayList<>();
        Set<RequestId> requests = new HashSet<>();
        String fault = "";
        while (json.nextToken() != JsonToken.END_ARRAY) {
            if (fault.isEmpty() && messages.size() == maxBatch) {
                fault = "a batch must not have more than " + maxBatch + " messages";
            }
            if (!fault.isEmpty()) {
                scan.skip();
                continue;
            }
            scan.message();
            String place = "message " + (messages.size() + 1) + " of the batch: ";
            if (!scan.fault().isEmpty()) {
                fault = place + scan.fault();
                continue;
            }
            Envelope message = new Envelope(scan, body);
            if (message.kind() == Envelope.Kind.REQUEST
                    && !message.id().map(requests::add).orElse(true)) {
                fault = place + "its id is that of an earlier request in the batch";
            }
            messages.add(message);
        }
        if (messages.isEmpty() && fault.isEmpty()) {
            fault = "a batch must have at least one message";
        }
        return fault.isEmpty() ? new Batch(messages) : new Malformed(JsonRpc.INVALID_REQUEST, fault, Optional.empty());
    }

    private String complaint(JacksonException fault, JsonParser parser, int at, int length) {
        if (fault instanceof UnexpectedEndOfInputException || at >= length) {
            return "the body ends in the middle of its JSON, after " + length + " bytes";
        }
        if (!(fault instanceof StreamConstraintsException)) {
            return "the body is not JSON near byte " + at;
        }
        boolean tooDeep = parser.streamReadContext().getNestingDepth() > maxDepth;
        return (tooDeep
                        ? "the body is nested deeper than " + maxDepth + " levels"
                        : "the body has too many names alike")
                + " at byte " + at;
    }

    private static Malformed notJson(String message) {
        return new Malformed(JsonRpc.PARSE_ERROR, message, Optional.empty());
    }

    private static boolean startsWithByteOrderMark(byte[] body) {
        return body.length >= 3 && body[0] == (byte) 0xEF && body[1] == (byte) 0xBB && body[2] == (byte) 0xBF;
    }

    /**
     * Makes parsers of UTF-8 that know where the bytes of a value lie, without limits of their own, but for depth. A parser that is closed
     * leaves its buffer to others, and shares the member names it has met with those that come after it. Safe for use by many threads.
     */
    static final class Parsers extends JsonFactory {
        private static final int MAX_SHARED_NAMES = 256;

        private final int maxDepth;

        Parsers(int maxDepth) {
            super(unlimited(maxDepth).disable(TokenStreamFactory.Feature.CHARSET_DETECTION));
            this.maxDepth = maxDepth;
        }

        /** What makes parsers that take a message nested so deep, and strings, numbers and names of any length. */
        static JsonFactoryBuilder unlimited(int maxDepth) {
            return JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNestingDepth(maxDepth)
                            .maxStringLength(Integer.MAX_VALUE)
                            .maxNumberLength(Integer.MAX_VALUE)
                            .maxNameLength(Integer.MAX_VALUE)
                            .build());
        }

        JsonParser parser(byte[] text, int from, int length) {
            return createParser(ObjectReadContext.empty(), text, from, length);
        }

        /**
         * Closes a parser, unless it has met long names: to share those of a few large messages would fill the memory.
         *
         * @return what makes the parsers after it: one that meets a new name copies all that are shared, so it pays to start afresh when
         *     they have become many
         */
        Parsers close(JsonParser parser, boolean longNames) {
            if (longNames) {
                return this;
            }
            parser.close();
            return _byteSymbolCanonicalizer.size() > MAX_SHARED_NAMES ? new Parsers(maxDepth) : this;
        }
    }
}

package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/**
 * What can be told of a message that cannot be read: which members of the envelope it has, by its quotes and brackets alone. Takes
 * any bytes, in one pass, however deep they are nested. An answer whose quotes or brackets do not match may tell its id at the end of
 * the body too.
 */
final class RoughEnvelope {
    /** The longest member of the envelope is {@code jsonrpc}, with each character as an escape. */
    private static final int MAX_NAME_BYTES = 64;
    /** Nobody asks for more than one; those beyond a few are noise. */
    private static final int MAX_IDS = 8;

    private static final int MAX_ID_BYTES = 64 << 10;
    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(TokenStreamFactory.Feature.CHARSET_DETECTION)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNumberLength(MAX_ID_BYTES)
                    .build())
            .build();

    private final byte[] body;
    private final int from;
    private final List<Span> ids = new ArrayList<>(1);
    private int at;
    private boolean whole;
    private boolean version;
    private boolean asking;
    private boolean answering;
    /** Whether its result is null, as a serializer may write it into a request too. */
    private boolean nullResult;

    /** Looks at the message whose opening bracket lies there. */
    RoughEnvelope(byte[] body, int from) {
        this.body = body;
        this.from = from;
        this.at = from + 1;
        members();
        if (!whole && (answering || nullResult) && ids.isEmpty()) {
            lastMembers();
        }
    }

    /** The index behind the message; that behind the body where the message does not end. */
    int end() {
        return at;
    }

    /**
     * The ids of what it answers, or may answer, since it has nothing else: as a request may have them, though they may be spelled in
     * another way.
     */
    Stream<RequestId> answered() {
        boolean bare = whole && version && !asking;
        return (answers() || bare ? ids : List.<Span>of())
                .stream()
                        .flatMap(id ->
                                token(id, value -> EnvelopeScan.id(value).or(() -> EnvelopeScan.roundedId(value)))
                                        .stream());
    }

    /** What has a method too, as a line of a log may, has to say that it is JSON-RPC. */
    private boolean answers() {
        return asking ? answering && version : answering || nullResult;
    }

    /**
     * Its id, if it is a request that says that it is JSON-RPC, and has one id: as it is spelled, also null and one that no request may
     * have.
     */
    Optional<RequestId> asked() {
        // a token at the very end may go on
        boolean told =
                version && asking && !answers() && ids.size() == 1 && ids.get(0).to() < body.length;
        return told ? token(ids.get(0), this::spelled) : Optional.empty();
    }

    private Optional<RequestId> spelled(JsonParser value) {
        JsonToken token = value.currentToken();
        Span span = ids.get(0);
        return token == JsonToken.VALUE_NULL || token == JsonToken.VALUE_STRING || token.isNumeric()
                ? Optional.of(new RequestId(new String(body, span.from(), span.length(), UTF_8)))
                : Optional.empty();
    }

    /** Reads one token by itself; empty where it is none. */
    private Optional<RequestId> token(Span span, Function<JsonParser, Optional<RequestId>> reading) {
        if (span.length() > MAX_ID_BYTES) {
            return Optional.empty();
        }
        byte[] token = Arrays.copyOfRange(body, span.from(), span.to());
        if (JsonBytes.utf8End(token, 0) < token.length) {
            return Optional.empty();
        }
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), token)) {
            Optional<RequestId> id = parser.nextToken() == null ? Optional.empty() : reading.apply(parser);
            return id.isPresent() && parser.nextToken() == null ? id : Optional.empty();
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }

    private void members() {
        while (at < body.length && !whole) {
            if (body[at] == '"') {
                int name = at;
                at = JsonBytes.afterString(body, name);
                int nameEnd = at;
                at = JsonBytes.afterWhiteSpace(body, at);
                if (at < body.length && body[at] == ':') {
                    int value = JsonBytes.afterWhiteSpace(body, at + 1);
                    at = JsonBytes.afterValue(body, value);
                    member(name, nameEnd, value, beforeWhiteSpace(at));
                }
            } else if (body[at] == '{' || body[at] == '[') {
                at = JsonBytes.afterValue(body, at);
            } else {
                whole = body[at] == '}';
                at++;
            }
        }
    }

    /** Goes back from the closing bracket at the very end over members that hold no others; they count if one says that it is JSON-RPC. */
    private void lastMembers() {
        int end = beforeWhiteSpace(body.length);
        if (end <= from || body[end - 1] != '}') {
            return;
        }
        version = false;
        do {
            int valueEnd = beforeWhiteSpace(end - 1);
            int value = beforeScalar(valueEnd);
            int colon = beforeWhiteSpace(value);
            int nameEnd = beforeWhiteSpace(colon - 1);
            int name = beforeScalar(nameEnd);
            if (name <= from || name == nameEnd || value == valueEnd || body[colon - 1] != ':') {
                break;
            }
            member(name, nameEnd, value, valueEnd);
            end = beforeWhiteSpace(name);
        } while (body[end - 1] == ',');
        // behind an opening bracket they are members of something else
        if (!version || body[end - 1] != ',') {
            ids.clear();
        }
    }

    private int beforeWhiteSpace(int end) {
        int start = end;
        while (start > from && JsonBytes.isWhiteSpace(body[start - 1])) {
            start--;
        }
        return start;
    }

    /** The index of the first byte of the string, number or word that ends there; that place itself where none does. */
    private int beforeScalar(int end) {
        int start = end;
        if (end > from && body[end - 1] == '"') {
            start--;
            do {
                start--;
            } while (start > from && !(body[start] == '"' && body[start - 1] != '\\'));
            return Math.max(start, from);
        }
        while (start > from && isPartOfWord(body[start - 1])) {
            start--;
        }
        return start;
    }

    private static boolean isPartOfWord(byte b) {
        return (b >= '0' && b <= '9')
                || (b >= 'a' && b <= 'z')
                || (b >= 'A' && b <= 'Z')
                || b == '-'
                || b == '+'
                || b == '.';
    }

    private void member(int name, int nameEnd, int value, int valueEnd) {
        switch (text(name, nameEnd)) {
            case "\"jsonrpc\"" -> version = text(value, valueEnd).equals("\"2.0\"");
            case "\"method\"", "\"params\"" -> asking = true;
            case "\"result\"" -> {
                answering |= !isNull(value, valueEnd);
                nullResult |= isNull(value, valueEnd);
            }
            case "\"error\"" -> answering |= !isNull(value, valueEnd);
            case "\"id\"" -> {
                if (ids.size() < MAX_IDS) {
                    ids.add(new Span(value, Math.max(value, valueEnd)));
                }
            }
            default -> {}
        }
    }

    private boolean isNull(int value, int valueEnd) {
        return text(value, valueEnd).equals("null");
    }

    /** A short token with its quotes, and without escapes; the empty text for a long one, which is none that counts. */
    private String text(int start, int end) {
        if (end - start > MAX_NAME_BYTES || end < start) {
            return "";
        }
        StringBuilder text = new StringBuilder(end - start);
        for (int i = start; i < end; ) {
            int unit = JsonBytes.escapedUnit(body, i, end);
            text.append((char) (unit < 0 ? body[i] & 0xFF : unit));
            i += unit < 0 ? 1 : 6;
        }
        return text.toString();
    }
}

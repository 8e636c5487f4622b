package dev.holdfast.json;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

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

    /** Where the ids of what it answers lie, or may answer, since it has nothing else. */
    List<Span> answered() {
        boolean bare = whole && version && !asking;
        return answers() || bare ? ids : List.of();
    }

    /** What has a method too, as a line of a log may, has to say that it is JSON-RPC. */
    private boolean answers() {
        return asking ? answering && version : answering || nullResult;
    }

    /** Where its id lies if it is a request that says that it is JSON-RPC, and has one id. */
    Optional<Span> asked() {
        // a token at the very end may go on
        boolean told =
                version && asking && !answers() && ids.size() == 1 && ids.get(0).to() < body.length;
        return told ? Optional.of(ids.get(0)) : Optional.empty();
    }

    private void members() {
        while (at < body.length && !whole) {
            if (body[at] == '"') {
                int name = at;
                at = JsonBytes.afterString(body, name);
                int nameEnd = at;
                at = JsonBytes.afterWhiteSpace(body, at);
                if (at < body.length && body[at] == ':') {
                    at = JsonBytes.afterWhiteSpace(body, at + 1);
                    int value = at;
                    member(name, nameEnd, value, passValue());
                }
            } else if (body[at] == '{' || body[at] == '[') {
                passValue();
            } else {
                whole = body[at] == '}';
                at++;
            }
        }
    }

    /** Moves to what ends the value here, and returns the index behind its last byte. */
    private int passValue() {
        int depth = 0;
        int end = at;
        while (at < body.length) {
            byte b = body[at];
            boolean closes = b == '}' || b == ']';
            if (depth == 0 && (closes || b == ',')) {
                return end;
            }
            depth += b == '{' || b == '[' ? 1 : closes ? -1 : 0;
            at = b == '"' ? JsonBytes.afterString(body, at) : at + 1;
            end = JsonBytes.isWhiteSpace(b) ? end : at;
        }
        return end;
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
                    ids.add(new Span(value, valueEnd));
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
        if (end - start > MAX_NAME_BYTES) {
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

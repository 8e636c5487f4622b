package dev.holdfast.json.backend;

import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The ids, and the progress tokens, under which a server gets a client's requests. Most are those of the client. Replaced by a small
 * number are those by which the server could not tell one call from another, for a client may use one for several, and those that not
 * every server gives back as they were: JavaScript rounds integers above 2^53, others know 32 bits or no sign, and a string can be
 * spelled in more than one way. Not safe for use by several threads at once.
 */
public final class ServerIds {
    private static final int MOST_DIGITS = 10;
    private static final int MOST_CHARS = 64;
    private static final int FIRST = 1_000_000_000;

    private int count;

    /**
     * What a server knows a call by.
     *
     * @param token under which it tells its progress, if the client asked for that
     */
    public record Names(RequestId id, Optional<RequestId> token) {
        /** Returns the client's request under these names; the same object where they are its own. */
        public Envelope of(Envelope request, Function<byte[], Envelope> parser) {
            Envelope named = withId(request, id, parser);
            return token.isPresent() ? withToken(named, token.get(), parser) : named;
        }
    }

    /** Returns a request or a response under an id; the same object where it has it. */
    public static Envelope withId(Envelope message, RequestId id, Function<byte[], Envelope> parser) {
        return message.id().equals(Optional.of(id)) ? message : parser.apply(message.withId(id));
    }

    /** Returns a request, or its progress, under a token; the same object where it has it. */
    public static Envelope withToken(Envelope message, RequestId token, Function<byte[], Envelope> parser) {
        return message.progressToken().equals(Optional.of(token))
                ? message
                : parser.apply(message.withProgressToken(token));
    }

    /**
     * Returns an id of the client's, or another one in its place.
     *
     * @param taken those that must not be used now
     */
    public RequestId free(RequestId clients, Predicate<RequestId> taken) {
        RequestId id = clients;
        while (!plain(id) || taken.test(id)) {
            count = (count + 1) % FIRST;
            id = new RequestId(String.valueOf(FIRST + count));
        }
        return id;
    }

    /** Whether any server gives this id back as it is. */
    private static boolean plain(RequestId id) {
        String token = id.token();
        return token.charAt(0) == '"' ? plainText(token) : plainNumber(token);
    }

    private static boolean plainText(String token) {
        boolean printable = token.chars().allMatch(c -> c >= ' ' && c <= '~' && c != '\\');
        return printable && token.length() <= MOST_CHARS + 2;
    }

    private static boolean plainNumber(String token) {
        boolean digits = token.chars().allMatch(c -> c >= '0' && c <= '9');
        return digits && token.length() <= MOST_DIGITS && Long.parseLong(token) <= Integer.MAX_VALUE;
    }
}

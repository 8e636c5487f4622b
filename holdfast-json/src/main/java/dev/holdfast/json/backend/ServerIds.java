package dev.holdfast.json.backend;

import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
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
    /** The greatest numbers that the client has used. */
    private long lastId = -1;

    private long lastToken = -1;

    /**
     * What a server knows a call by.
     *
     * @param token under which it tells its progress, if the client asked for that
     */
    public record Names(RequestId id, Optional<RequestId> token) {
        /** Returns the client's request under these names; the same object where they are its own. */
        public Envelope of(Envelope request) {
            Envelope named = request.withId(id);
            return token.map(named::withProgressToken).orElse(named);
        }
    }

    /**
     * Names a call. Most clients count: a number that does not go on from all numbers before it may have been used, and what comes late,
     * or is replayed, for the call that had it is not to be taken for this one's. Of a string that cannot be told.
     *
     * @param takenIds the ids that must not be used now
     * @param takenTokens the tokens that must not be used now
     */
    public Names names(Envelope request, Predicate<RequestId> takenIds, Predicate<RequestId> takenTokens) {
        RequestId clients = request.id().orElseThrow();
        long number = number(clients);
        RequestId id = free(clients, number, lastId, takenIds);
        lastId = Math.max(lastId, number);
        Optional<RequestId> token = request.progressToken();
        if (token.isPresent()) {
            number = number(token.get());
            token = Optional.of(free(token.get(), number, lastToken, takenTokens));
            lastToken = Math.max(lastToken, number);
        }
        return new Names(id, token);
    }

    private RequestId free(RequestId clients, long number, long last, Predicate<RequestId> taken) {
        boolean plain = number < 0 ? plainText(clients.token()) : number > last;
        if (plain && !taken.test(clients)) {
            return clients;
        }
        RequestId id;
        do {
            count = (count + 1) % FIRST;
            id = new RequestId(String.valueOf(FIRST + count));
        } while (taken.test(id));
        return id;
    }

    /** The number that an id is, where any server gives it back as it is; else -1. */
    private static long number(RequestId id) {
        String token = id.token();
        if (token.length() > MOST_DIGITS) {
            return -1;
        }
        for (int i = 0; i < token.length(); i++) {
            if (token.charAt(i) < '0' || token.charAt(i) > '9') {
                return -1;
            }
        }
        long number = Long.parseLong(token);
        return number <= Integer.MAX_VALUE ? number : -1;
    }

    /** Whether an id is a text that any server gives back as it is. */
    private static boolean plainText(String token) {
        if (token.charAt(0) != '"' || token.length() > MOST_CHARS + 2) {
            return false;
        }
        for (int i = 1; i < token.length(); i++) {
            char c = token.charAt(i);
            if (c < ' ' || c > '~' || c == '\\') {
                return false;
            }
        }
        return true;
    }
}

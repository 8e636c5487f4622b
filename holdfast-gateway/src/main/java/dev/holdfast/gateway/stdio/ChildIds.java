package dev.holdfast.gateway.stdio;

import dev.holdfast.spi.RequestId;

/**
 * The ids under which a child gets requests. Most are those of the client. One that not every server gives back as it was is
 * replaced by a small number: JavaScript rounds integers above 2^53, others know 32 bits or no sign, and a string can be spelled in
 * more than one way.
 */
final class ChildIds {
    private static final int MOST_DIGITS = 10;
    private static final int MOST_CHARS = 64;
    private static final int FIRST = 1_000_000_000;

    private int count;

    /** Whether any server gives this id back as it is. */
    static boolean plain(RequestId id) {
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

    /** Another one of our own. */
    RequestId next() {
        count = (count + 1) % FIRST;
        return new RequestId(String.valueOf(FIRST + count));
    }
}

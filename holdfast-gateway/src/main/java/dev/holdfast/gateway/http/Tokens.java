package dev.holdfast.gateway.http;

import dev.holdfast.gateway.text.GatewayException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Who may ask, and by which token. Only digests of the tokens are kept, and no message names one. */
final class Tokens {
    private static final Pattern BLANK = Pattern.compile("\\s+");
    private static final Pattern VISIBLE = Pattern.compile("[!-~]+");
    private static final int SHORTEST = 16;
    private static final int LONGEST_PRINCIPAL = 200;

    /** No tokens: nobody is let in. */
    static final Tokens NONE = new Tokens(Map.of());

    private final Map<ByteBuffer, Entry> entries;

    private record Entry(String principal, int line) {}

    /**
     * @param entries by the digests of their tokens
     */
    private Tokens(Map<ByteBuffer, Entry> entries) {
        this.entries = entries;
    }

    /**
     * Reads lines of a principal and a token each; empty ones and those that begin with {@code #} are skipped.
     *
     * @param file its name for messages
     * @throws GatewayException names the file and the first line that is wrong
     */
    static Tokens parse(String file, String text) {
        Map<ByteBuffer, Entry> entries = new HashMap<>();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            if (!line.isEmpty() && !line.startsWith("#")) {
                add(file + ", line " + (i + 1) + ": ", line, i + 1, entries);
            }
        }
        if (entries.isEmpty()) {
            throw new GatewayException(file + ": no line holds a principal and a token");
        }
        return new Tokens(entries);
    }

    private static void add(String place, String line, int number, Map<ByteBuffer, Entry> entries) {
        String[] words = BLANK.split(line, -1);
        if (words.length != 2) {
            throw new GatewayException(place + "there must be a principal and a token, and nothing else");
        }
        String token = words[1];
        if (words[0].length() > LONGEST_PRINCIPAL) {
            throw new GatewayException(place + "the principal must not be longer than " + LONGEST_PRINCIPAL);
        }
        if (token.length() < SHORTEST) {
            throw new GatewayException(place + "the token must have at least " + SHORTEST + " characters");
        }
        if (!VISIBLE.matcher(token).matches()) {
            throw new GatewayException(place + "the token must be of visible ASCII characters");
        }
        Entry other = entries.putIfAbsent(digest(token), new Entry(words[0], number));
        if (other != null) {
            throw new GatewayException(place + "the token is that of line " + other.line);
        }
    }

    /** Whose token this is. How long it takes may tell something of digests, from which nobody finds a token. */
    Optional<String> principal(String token) {
        return Optional.ofNullable(entries.get(digest(token))).map(Entry::principal);
    }

    int size() {
        return entries.size();
    }

    private static ByteBuffer digest(String token) {
        return ByteBuffer.wrap(digest(token.getBytes(StandardCharsets.UTF_8)));
    }

    /** The SHA-256 of bytes. */
    static byte[] digest(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}

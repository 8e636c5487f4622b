package dev.holdfast.spi;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The key a session is kept under: SHA-256 over its id and its principal. A store never sees the id, and another principal's
 * look-up is a miss like any other.
 *
 * @param a the first eight bytes of the digest, and so on
 */
public record SessionKey(long a, long b, long c, long d) {
    /** Returns the key of a session id in the hands of a principal (empty for nobody). */
    public static SessionKey of(String sessionId, String principal) {
        byte[] id = sessionId.getBytes(StandardCharsets.UTF_8);
        byte[] who = principal.getBytes(StandardCharsets.UTF_8);
        ByteBuffer text = ByteBuffer.allocate(Integer.BYTES + id.length + who.length);
        text.putInt(id.length).put(id).put(who);
        try {
            ByteBuffer digest =
                    ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(text.array()));
            return new SessionKey(digest.getLong(), digest.getLong(), digest.getLong(), digest.getLong());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }
}

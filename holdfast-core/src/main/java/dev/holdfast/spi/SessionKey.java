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
    /** To find and make one costs as much as the digest, and each request needs one. */
    private static final ThreadLocal<MessageDigest> SHA_256 = ThreadLocal.withInitial(SessionKey::sha256);

    /** Returns the key of a session id in the hands of a principal (empty for nobody). */
    public static SessionKey of(String sessionId, String principal) {
        byte[] id = sessionId.getBytes(StandardCharsets.UTF_8);
        byte[] who = principal.getBytes(StandardCharsets.UTF_8);
        ByteBuffer text = ByteBuffer.allocate(Integer.BYTES + id.length + who.length);
        text.putInt(id.length).put(id).put(who);
        ByteBuffer digest = ByteBuffer.wrap(SHA_256.get().digest(text.array()));
        return new SessionKey(digest.getLong(), digest.getLong(), digest.getLong(), digest.getLong());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }
}

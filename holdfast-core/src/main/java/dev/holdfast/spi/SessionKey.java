package dev.holdfast.spi;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
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
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    /** To find and make one costs as much as the digest, and each request needs one. */
    private static final ThreadLocal<MessageDigest> SHA_256 = ThreadLocal.withInitial(SessionKey::sha256);

    /** Returns the key of a session id in the hands of a principal (empty for nobody). */
    public static SessionKey of(String sessionId, String principal) {
        byte[] id = sessionId.getBytes(StandardCharsets.UTF_8);
        byte[] who = principal.getBytes(StandardCharsets.UTF_8);
        MessageDigest sha = SHA_256.get();
        for (int shift = Integer.SIZE - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
            sha.update((byte) (id.length >>> shift));
        }
        sha.update(id);
        byte[] digest = sha.digest(who);
        return new SessionKey(
                (long) LONG.get(digest, 0),
                (long) LONG.get(digest, Long.BYTES),
                (long) LONG.get(digest, 2 * Long.BYTES),
                (long) LONG.get(digest, 3 * Long.BYTES));
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }
}

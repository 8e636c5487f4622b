package dev.holdfast.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The service whose sessions are kept under a prefix. Redis has a hash of all services that were ever let in, by their fingerprints, and
 * of the first one. A service that takes the prefix over is added to those before, whose nodes go on: so an update can be rolled out.
 *
 * @param name for people, on one line
 * @param fingerprint of everything that identifies the service; may be shown to anybody who reads in Redis
 */
record PrefixOwner(String name, String fingerprint, boolean takesOver) {
    private static final byte[] FIRST = RedisCodec.text("first");

    /** A service that is identified by these words, which may hold secrets. */
    static PrefixOwner of(String name, List<String> words) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (String word : words) {
                digest.update(word.getBytes(UTF_8));
                digest.update((byte) 0);
            }
            String fingerprint = HexFormat.of().formatHex(digest.digest());
            return new PrefixOwner(name.replaceAll("\\p{Cntrl}", "?"), fingerprint, false);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }

    PrefixOwner takingOver() {
        return new PrefixOwner(name, fingerprint, true);
    }

    /** Makes a prefix that is nobody's this service's; fails with a {@link RedisStoreException} if it is another one's. */
    CompletionStage<Void> enter(RedisConnections redis, String prefix) {
        byte[] key = RedisCodec.text(prefix + "{bus}owner");
        byte[] own = RedisCodec.text(fingerprint);
        return redis.run(commands -> commands.hsetnx(key, FIRST, own))
                .thenCompose(isFirst -> isFirst || takesOver ? named(redis, key) : look(redis, key, prefix));
    }

    private CompletionStage<Void> named(RedisConnections redis, byte[] key) {
        return redis.run(commands -> commands.hset(key, RedisCodec.text(fingerprint), RedisCodec.text(name)))
                .thenAccept(isNew -> {});
    }

    private CompletionStage<Void> look(RedisConnections redis, byte[] key, String prefix) {
        return redis.run(commands -> commands.hgetall(key)).thenCompose(found -> {
            Map<String, String> owners = new HashMap<>();
            found.forEach((field, value) -> owners.put(RedisCodec.text(field), RedisCodec.text(value)));
            String first = owners.getOrDefault(RedisCodec.text(FIRST), "");
            if (owners.containsKey(fingerprint) || first.equals(fingerprint)) {
                return CompletableFuture.completedFuture(null);
            }
            return CompletableFuture.failedFuture(RedisStoreException.ofAnother(
                    redis.shown(), prefix, owners.getOrDefault(first, "another service"), name));
        });
    }
}

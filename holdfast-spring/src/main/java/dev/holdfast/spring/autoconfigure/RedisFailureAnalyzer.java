package dev.holdfast.spring.autoconfigure;

import dev.holdfast.redis.RedisStoreException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells why Redis cannot be used, and which properties name another one. */
final class RedisFailureAnalyzer extends AbstractFailureAnalyzer<RedisStoreException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, RedisStoreException cause) {
        String action = cause.belongsToAnother()
                ? "Set holdfast.store.redis.prefix to a prefix of this application's own, or holdfast.store.redis.take-over=true to"
                        + " serve the sessions that are there."
                : "Start Redis there, or set holdfast.store.redis.url, or spring.data.redis.*, to where it is, with the user and"
                        + " password that it wants.";
        return new FailureAnalysis("Holdfast cannot keep sessions: " + cause.getMessage(), action, cause);
    }
}

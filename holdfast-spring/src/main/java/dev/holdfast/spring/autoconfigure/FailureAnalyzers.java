package dev.holdfast.spring.autoconfigure;

import dev.holdfast.redis.RedisStoreException;
import dev.holdfast.rocksdb.RocksDbStoreException;
import dev.holdfast.spring.properties.InvalidPropertyException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says why the application did not start, and what to set. Each is loaded where its exception is on the class path. */
final class FailureAnalyzers {
    private static final String NO_SESSIONS = "Holdfast cannot keep sessions: ";

    private FailureAnalyzers() {}

    static final class InvalidProperty extends AbstractFailureAnalyzer<InvalidPropertyException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, InvalidPropertyException cause) {
            String description = String.format(
                    "Holdfast does not take the value of a property:%n%n    Property: %s%n    Value: \"%s\"%n    Reason: %s",
                    cause.property(), cause.value(), cause.reason());
            return new FailureAnalysis(description, cause.remedy(), cause);
        }
    }

    static final class RocksDb extends AbstractFailureAnalyzer<RocksDbStoreException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, RocksDbStoreException cause) {
            String another =
                    "Set holdfast.store.rocksdb.folder to a folder that this application may write to and no other process uses";
            String action;
            if (cause.concernsMachine()) {
                action = "Mend what is named above: another folder would not help.";
            } else if (cause.belongsToAnother()) {
                action = another + ", or holdfast.store.rocksdb.take-over=true to serve the sessions that are there.";
            } else {
                action = another + ", or holdfast.store.type=memory where sessions need not survive, as in tests.";
            }
            return new FailureAnalysis(NO_SESSIONS + cause.getMessage(), action, cause);
        }
    }

    static final class Redis extends AbstractFailureAnalyzer<RedisStoreException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, RedisStoreException cause) {
            String action = cause.belongsToAnother()
                    ? "Set holdfast.store.redis.prefix to a prefix of this application's own, or"
                            + " holdfast.store.redis.take-over=true to serve the sessions that are there."
                    : "Start Redis there, or set holdfast.store.redis.url, or spring.data.redis.*, to where it is, with the"
                            + " user and password that it wants.";
            return new FailureAnalysis(NO_SESSIONS + cause.getMessage(), action, cause);
        }
    }
}

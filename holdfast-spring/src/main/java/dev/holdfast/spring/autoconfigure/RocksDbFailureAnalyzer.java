package dev.holdfast.spring.autoconfigure;

import dev.holdfast.rocksdb.RocksDbStoreException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells why the folder of the store cannot be used, and which property names another. */
final class RocksDbFailureAnalyzer extends AbstractFailureAnalyzer<RocksDbStoreException> {
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
        return new FailureAnalysis("Holdfast cannot keep sessions: " + cause.getMessage(), action, cause);
    }
}

package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Missing;
import dev.holdfast.log.SessionLog;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.UnreadableException;
import dev.holdfast.spi.SessionKey;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;

/** How a session ends that is in nobody's memory. */
final class StoredEnd {
    private final SessionHost host;
    private final ParkedSessions parked;

    StoredEnd(SessionHost host, ParkedSessions parked) {
        this.host = host;
        this.parked = parked;
    }

    /** Lets the store forget a session. */
    CompletionStage<Optional<Finding>> delete(SessionKey key, String id, String principal, EndReason why) {
        return StoreQuestion.ask(() -> host.store().delete(key)).thenApply(done -> {
            parked.remove(key);
            host.telemetry().closedInStore(id, principal, why);
            return Optional.of(new Missing());
        });
    }

    /**
     * The end of a session that its client wants no more.
     *
     * @param kinds which kinds of sessions end
     */
    Termination termination(SessionKey key, String id, String principal, Predicate<String> kinds) {
        return new Termination(key, id, principal, kinds);
    }

    /** Ends a session that its client wants no more. */
    final class Termination {
        private final SessionKey key;
        private final String id;
        private final String principal;
        private final Predicate<String> kinds;
        private volatile boolean found;

        private Termination(SessionKey key, String id, String principal, Predicate<String> kinds) {
            this.key = key;
            this.id = id;
            this.principal = principal;
            this.kinds = kinds;
        }

        CompletionStage<Optional<Finding>> run() {
            return isKept().thenCompose(kept -> {
                found = kept;
                return kept
                        ? delete(key, id, principal, EndReason.TERMINATED)
                        : SessionLog.DONE.thenApply(nothing -> Optional.of(new Missing()));
            });
        }

        /** Whether there was one. */
        boolean found() {
            return found;
        }

        private CompletionStage<Boolean> isKept() {
            return StoreQuestion.ask(() -> host.store().look(key)).handle((look, failure) -> {
                if (failure != null && !(causeOf(failure) instanceof UnreadableException)) {
                    throw new CompletionException(causeOf(failure));
                }
                return failure != null
                        || look.filter(kept -> kinds.test(kept.record().kind())).isPresent();
            });
        }
    }

    static Throwable causeOf(Throwable failure) {
        return failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
    }
}

package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.spi.RequestId;
import java.util.Optional;

/**
 * Why a forwarded call was not taken.
 *
 * @param detail a name, or the id of a request
 */
record ForwardedAnswer(Kind kind, String detail) {
    /** What sort of reason it is. */
    enum Kind {
        /** The session is not on that node, or has no place there, or leaves it: whoever asks looks again who has the backend. */
        NOT_HERE,
        DUPLICATE,
        REFUSED,
        CLOSED,
        /** The store failed. */
        FAILED
    }

    static final ForwardedAnswer NOT_HERE = new ForwardedAnswer(Kind.NOT_HERE, "");
    static final ForwardedAnswer FAILED = new ForwardedAnswer(Kind.FAILED, "");

    /** The same of an outcome that is none of acceptance. */
    static ForwardedAnswer of(Call.Outcome outcome) {
        if (outcome instanceof Call.Duplicate duplicate) {
            return new ForwardedAnswer(Kind.DUPLICATE, duplicate.id().token());
        } else if (outcome instanceof Call.Refused refused) {
            // a node that drains gives the backend up, be it when its last call has ended
            return refused.reason() == Refusal.DRAINING
                    ? NOT_HERE
                    : new ForwardedAnswer(Kind.REFUSED, refused.reason().name());
        } else if (outcome instanceof Call.Closed closed) {
            // a node that parks or drains has not ended the session
            return closed.reason().advice() == EndReason.Advice.RECONNECT
                    ? NOT_HERE
                    : new ForwardedAnswer(Kind.CLOSED, closed.reason().name());
        }
        throw new IllegalArgumentException("a call that was taken");
    }

    /** The outcome for the client; empty where it is to be looked again who has the backend. */
    Optional<Call.Outcome> outcome() {
        return switch (kind) {
            case DUPLICATE -> Optional.of(new Call.Duplicate(new RequestId(detail)));
            case REFUSED -> Optional.of(new Call.Refused(Refusal.valueOf(detail)));
            case CLOSED -> Optional.of(new Call.Closed(EndReason.valueOf(detail)));
            case FAILED -> Optional.of(new Call.Refused(Refusal.STORE));
            case NOT_HERE -> Optional.empty();
        };
    }
}

package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Decides what follows an attempt to send a message that was not accepted: its outcome, or another attempt, which is then on its way.
 * What may have been executed is sent again only if that is harmless. For one thread at a time, but for what says otherwise.
 */
final class PostFate {
    /** Statuses that say that a request goes elsewhere, whole; others than these, and than 4xx, may come behind its execution. */
    private static final Set<Integer> NOT_EXECUTED = Set.of(301, 307, 308);

    private static final int BAD_REQUEST = 400;
    private static final int SERVER_ERROR = 500;
    private static final String LATE = "the server did not come back in time";
    private static final Optional<Outcome> ANOTHER_ATTEMPT = Optional.empty();

    private final Envelope message;
    private final boolean repeatable;
    private final Retry retry;
    private final Sending sending;
    private final BooleanSupplier cancelled;
    private int refusals;
    private int useless;

    /**
     * Before the first attempt.
     *
     * @param repeatable whether the message may be sent again when its fate is unknown
     * @param retry makes the attempts
     * @param sending what is known of them; hears here how each has ended that was not accepted
     * @param cancelled whether the application has given the message up
     */
    PostFate(Envelope message, boolean repeatable, Retry retry, Sending sending, BooleanSupplier cancelled) {
        this.message = message;
        this.repeatable = repeatable;
        this.retry = retry;
        this.sending = sending;
        this.cancelled = cancelled;
    }

    boolean repeatable() {
        return repeatable;
    }

    /** The server has answered, and neither accepted the message nor asked for it again at once. */
    Optional<Outcome> refused(PostVerdict verdict, ExchangeEnd.Answer answer, HttpRequest request) {
        HttpStatusException status = new HttpStatusException(answer.status(), answer.body());
        if (verdict instanceof PostVerdict.NotSent none) {
            return Optional.of(notSent(none.failure()));
        }
        if (verdict instanceof PostVerdict.NoSession) {
            // it did not execute this attempt where the status says so, but perhaps one before
            if (!NOT_EXECUTED.contains(answer.status()) && answer.status() / 100 != 4) {
                sending.failed();
            }
            return Optional.of(unlessExecuted(status));
        }
        if (verdict instanceof PostVerdict.Unknown) {
            return broken("a proxy lost the server while it had the request", status);
        }
        if (verdict instanceof PostVerdict.Failed && !repeatable) {
            return Optional.of(new Outcome.Unknown("the server failed at the request", status, false));
        }
        if (verdict instanceof PostVerdict.Failed) {
            sending.failed();
        } else {
            sending.unsent();
        }
        if (sending.perhapsRuns() && message.kind() == Envelope.Kind.REQUEST && answer.status() == BAD_REQUEST) {
            // the server may have got it before, and refuse it as long as it runs
            return again(0, status, "the server refuses to take it again");
        }
        if (verdict instanceof PostVerdict.Later wait) {
            retry.broke(status);
            return again(wait.millis(), status, LATE);
        }
        boolean refusedForGood = verdict instanceof PostVerdict.Refused && !isNotificationThatFailed(answer);
        if (!refusedForGood && sending.gone()) {
            return Optional.of(sessionGone(status));
        }
        return refusedForGood || refusals++ > 0 || !retry.again(0)
                ? Optional.of(new Outcome.Refused(answer.status(), answer.headers(), answer.body(), request))
                : ANOTHER_ATTEMPT;
    }

    /** A server may fail at a notification because the listening stream, which was asked for before, is not there yet. */
    private boolean isNotificationThatFailed(ExchangeEnd.Answer answer) {
        return message.kind() == Envelope.Kind.NOTIFICATION && answer.status() == SERVER_ERROR;
    }

    /** No answer has come: because the message was not sent, or nobody knows why. */
    Optional<Outcome> unanswered(ExchangeEnd.NoAnswer end) {
        if (end.cause() instanceof OversizedEventException big) {
            return Optional.of(new Outcome.Unreadable(String.valueOf(big.getMessage())));
        }
        if (end.sent()) {
            return broken("the connection broke before an answer came", end.cause());
        }
        sending.unsent();
        retry.broke(end.cause());
        return again(0, end.cause(), LATE);
    }

    private Optional<Outcome> broken(String reason, Throwable cause) {
        sending.inDoubt();
        retry.broke(cause);
        return unknown(reason, cause);
    }

    /** The server may have executed the request. */
    Optional<Outcome> unknown(String reason, Throwable cause) {
        sending.inDoubt();
        return repeatable ? again(0, cause, LATE) : unknownForGood(reason, cause);
    }

    /** The stream of its answer will not come back. */
    Optional<Outcome> lost(StreamLoss loss) {
        if (loss instanceof StreamLoss.GivenUp) {
            return Optional.of(new Outcome.Unknown(LATE, loss.cause(), false));
        }
        if (loss instanceof StreamLoss.Unreadable) {
            return Optional.of(
                    new Outcome.Unreadable(String.valueOf(loss.cause().getMessage())));
        }
        String reason = loss instanceof StreamLoss.NoCursor none ? none.reason() : "it is not given any more";
        return unknown("the stream of its answer is lost: " + reason, loss.cause());
    }

    /** What has come in order is no answer: the next time it is likely to be the same, so there is one. */
    Optional<Outcome> useless(String came, boolean sessionGone) {
        Throwable cause = new IOException(came);
        if (sessionGone) {
            return Optional.of(new Outcome.Unknown(came, cause, true));
        }
        if (repeatable && useless++ == 0) {
            sending.inDoubt();
            return again(0, cause, came);
        }
        return unknownForGood(came, cause);
    }

    private Optional<Outcome> unknownForGood(String reason, Throwable cause) {
        sending.inDoubt();
        return Optional.of(
                cancelled.getAsBoolean()
                        ? new Outcome.Cancelled()
                        : new Outcome.Unknown(reason, cause, sending.gone()));
    }

    /**
     * Another attempt after a while, if there still is a session for it.
     *
     * @param reason why it is not known whether the message was executed, if it may have been and there is no other attempt
     */
    private Optional<Outcome> again(long millis, Throwable cause, String reason) {
        if (cancelled.getAsBoolean()) {
            return Optional.of(new Outcome.Cancelled());
        }
        if (sending.gone()) {
            return Optional.of(sessionGone(cause));
        }
        if (retry.again(millis)) {
            return ANOTHER_ATTEMPT;
        }
        return Optional.of(notSent(reason, cause));
    }

    /** What becomes of it where no attempt can be made any more, because of this. */
    Outcome notSent(Throwable cause) {
        return notSent("it could not be sent again", cause);
    }

    private Outcome notSent(String reason, Throwable cause) {
        return sending.perhapsSent() ? new Outcome.Unknown(reason, cause, false) : new Outcome.NotSent(cause);
    }

    /** What becomes of it without a session; what has no response is nothing to a server that has none. For any thread. */
    Outcome sessionGone(Throwable cause) {
        if (cancelled.getAsBoolean()) {
            return new Outcome.Cancelled();
        }
        return unlessExecuted(cause);
    }

    private Outcome unlessExecuted(Throwable cause) {
        return sending.perhapsSent() && message.kind() == Envelope.Kind.REQUEST
                ? new Outcome.Unknown("its session is gone", cause, true)
                : new Outcome.SessionGone();
    }
}

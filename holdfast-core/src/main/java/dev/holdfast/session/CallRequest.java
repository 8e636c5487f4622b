package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.log.Step;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A request of a call, and what becomes of it. */
public final class CallRequest {
    private static final Logger logger = LoggerFactory.getLogger(CallRequest.class);
    /** How often a request is given to another backend that the ones before did nothing of. */
    private static final int MOST_RETURNS = 3;

    private enum Progress {
        /** No backend has it. */
        WAITING,
        /** A backend is being given it. */
        ENTERING,
        /** The backend that is being given it was lost; it may still give it back. */
        STRANDED,
        /** A backend has it. */
        RUNNING,
        /** Its answer stands in the outbox. */
        ANSWERED,
        /** Its answer is committed, or there will be none. */
        OVER
    }

    private final LiveCall call;
    private InboundMessage request;
    private volatile Progress progress = Progress.WAITING;
    private int incarnation;
    private boolean cancelled;
    private boolean stopped;
    private volatile Optional<InboundMessage> cancellation = Optional.empty();
    /** In whose hands it is, or was last; nobody's once it was given back. */
    private @Nullable Held holder;

    private int returns;
    /** How far its client was told that it is, by all runs of it. */
    private OptionalDouble told = OptionalDouble.empty();
    /** The same, by those before this one. */
    private OptionalDouble toldBefore = OptionalDouble.empty();

    private CallWatch watch = CallWatch.NONE;

    CallRequest(LiveCall call, InboundMessage request) {
        this.call = call;
        this.request = request;
    }

    LiveCall call() {
        return call;
    }

    /** The request as its client has sent it; without its content while a backend has it, unless the journal needs that. */
    public InboundMessage message() {
        return request;
    }

    RequestId id() {
        return request.requiredId();
    }

    boolean waits() {
        return progress == Progress.WAITING;
    }

    boolean entering() {
        return progress == Progress.ENTERING || progress == Progress.STRANDED;
    }

    /** Whether the request is neither answered nor cancelled. */
    boolean open() {
        return progress.compareTo(Progress.ANSWERED) < 0;
    }

    boolean over() {
        return progress == Progress.OVER;
    }

    boolean cancelled() {
        return cancelled;
    }

    boolean stopped() {
        return stopped;
    }

    /** The incarnation of the backend that has the request, 0 for none. */
    int incarnation() {
        return incarnation;
    }

    /** Lets somebody follow the request; false if it is over already. */
    boolean follow(CallWatch follower, Step step) {
        watch = over() ? CallWatch.NONE : follower;
        return !over();
    }

    CallWatch watch() {
        return watch;
    }

    /** Who has followed the request, which is over; told nothing more from here on. */
    CallWatch lastWatch(Step step) {
        CallWatch last = watch;
        watch = CallWatch.NONE;
        return last;
    }

    /** Begins to give the request into the hands of an incarnation of the backend. */
    Held hand(int next, Step step) {
        progress = Progress.ENTERING;
        incarnation = next;
        Held held = new Held(this, next);
        holder = held;
        if (request.journal() instanceof JournalChange.None) {
            request = request.withoutContent();
        }
        return held;
    }

    /** Whether the request is in these hands, or was last. */
    boolean isHeldBy(Held held) {
        return holder == held;
    }

    /**
     * The backend has done nothing of the request, and another one may get it. False where it is not in the hands of a backend any
     * more, gets its answer without one, or came back too often.
     */
    boolean giveBack(InboundMessage whole, Step step) {
        boolean waits = open() && !stopped && progress != Progress.WAITING && returns++ < MOST_RETURNS;
        if (waits) {
            progress = Progress.WAITING;
            incarnation = 0;
            holder = null;
            request = whole;
            toldBefore = told;
        }
        return waits;
    }

    /** Whether this incarnation was lost while it was being given the request. */
    boolean stranded(int by) {
        return progress == Progress.STRANDED && incarnation == by;
    }

    /** The incarnation has been given the request, if it still is in its hands. False if it was lost meanwhile. */
    boolean entered(int by, Step step) {
        boolean lost = stranded(by);
        if (entering() && incarnation == by) {
            progress = Progress.RUNNING;
        }
        return !lost;
    }

    /** The backend is gone. True if the request ends with it; while that is being given it, it may still give it back. */
    boolean losesBackend(Step step) {
        if (entering()) {
            progress = Progress.STRANDED;
        }
        return progress == Progress.RUNNING;
    }

    /** Whether a message still has a place on the stream. */
    boolean takes(OutboundMessage message) {
        return open() && (!EventKind.answers(message.kind()) || id().equals(message.id()));
    }

    /** Whether progress goes beyond what earlier runs of the request have told; if so, it is told now. */
    boolean tellsProgress(OptionalDouble here, Step step) {
        if (toldBefore.isPresent() && here.orElse(Double.NEGATIVE_INFINITY) <= toldBefore.getAsDouble()) {
            return false;
        }
        told = here.isPresent() ? here : told;
        return true;
    }

    /** The call is run again, and the client was told of it up to here. */
    void continues(OptionalDouble upTo, Step step) {
        told = upTo;
        toldBefore = upTo;
    }

    void answer(Step step) {
        progress = Progress.ANSWERED;
    }

    /** The store does not have the answer. No backend gets the request again. */
    void unanswer(Step step) {
        progress = progress == Progress.ANSWERED ? Progress.RUNNING : progress;
    }

    /** The answer is committed, or there will be none. */
    void close(Step step) {
        progress = Progress.OVER;
    }

    /** Nobody waits for an answer any more, though there is none. */
    void cancel(InboundMessage notification, Step step) {
        progress = Progress.OVER;
        cancelled = true;
        cancellation = Optional.of(notification);
        tellBackend(step);
        CallWatch last = lastWatch(step);
        if (last != CallWatch.NONE) {
            step.then(last::cancelled);
        }
    }

    /** The backend shall give up the request, which has got its answer without it. */
    void stop(Step step) {
        stopped = true;
        tellBackend(step);
    }

    private void tellBackend(Step step) {
        Held present = holder;
        if (present != null) {
            Optional<InboundMessage> notification = cancellation;
            step.then(() -> present.cancelled(notification));
        }
    }

    /**
     * The request in the hands of one incarnation of the backend, as that sees it: the way back for the answer, until it has given the
     * request back, and whom to tell that the request was cancelled, which is the hook that was set last, and that once. Safe for use
     * by any thread.
     */
    static final class Held implements CallSink {
        private static final CancelHook NOBODY = notification -> {};
        private static final CancelHook TOLD = notification -> {};

        private final CallRequest request;
        private final int incarnation;
        private final CallWatch watch;
        /** The whole message, until the backend has it. */
        private @Nullable InboundMessage message;

        private CancelHook hook = NOBODY;

        private Held(CallRequest request, int incarnation) {
            this.request = request;
            this.incarnation = incarnation;
            this.watch = request.watch;
            this.message = request.request;
        }

        CallRequest request() {
            return request;
        }

        int incarnation() {
            return incarnation;
        }

        CallWatch watch() {
            return watch;
        }

        /** Takes the message, once, for the backend. */
        InboundMessage takeMessage() {
            InboundMessage whole = Objects.requireNonNull(message);
            message = null;
            return whole;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage answer) {
            return request.call.owner().send(this, answer);
        }

        @Override
        public void onCancel(CancelHook next) {
            if (!set(next)) {
                next.cancelled(request.cancellation);
            }
        }

        /** Sets the hook; false if the request was cancelled already. */
        private synchronized boolean set(CancelHook next) {
            boolean early = hook != TOLD;
            hook = early ? next : TOLD;
            return early;
        }

        private void cancelled(Optional<InboundMessage> notification) {
            try {
                takeHook().cancelled(notification);
            } catch (Throwable e) {
                logger.error("a call could not be cancelled", e);
            }
        }

        private synchronized CancelHook takeHook() {
            CancelHook last = hook;
            hook = TOLD;
            return last;
        }

        @Override
        public void disconnect(Duration retry) {
            request.call.owner().disconnect(this, retry);
        }

        @Override
        public String sessionId() {
            return request.call.owner().id();
        }
    }
}

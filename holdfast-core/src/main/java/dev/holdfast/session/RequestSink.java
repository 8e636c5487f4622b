package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.log.Step;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.OptionalDouble;

/** A request of a call, and what becomes of it. What changes here changes inside a step. */
public final class RequestSink {
    /** How often a request is given to another backend that the ones before did nothing of. */
    private static final int MOST_RETURNS = 3;

    /** A request in the hands of a backend: what only that needs is not kept here while it works. */
    record Handed(RequestSink sink, HandedSink way, InboundMessage request, CallWatch watch) {}

    private final LiveCall call;
    private InboundMessage request;
    /** Changed inside steps, and read outside of them too. */
    private volatile RequestProgress progress = RequestProgress.WAITING;

    private int incarnation;
    private boolean cancelled;
    private boolean stopped;
    /** Changed inside steps, and read outside of them too. */
    private volatile Optional<InboundMessage> cancellation = Optional.empty();
    /** In whose hands it is, or was last; nobody's once it was given back. */
    private Optional<HandedSink> holder = Optional.empty();

    private int returns;

    /** How far its client was told that it is, by all runs of it. */
    private OptionalDouble told = OptionalDouble.empty();
    /** The same, by those before this one. */
    private OptionalDouble toldBefore = OptionalDouble.empty();

    private CallWatch watch = CallWatch.NONE;

    RequestSink(LiveCall call, InboundMessage request) {
        this.call = call;
        this.request = request;
    }

    public InboundMessage request() {
        return request;
    }

    RequestId id() {
        return request.requiredId();
    }

    /** Whether no backend has the request yet. */
    boolean waits() {
        return progress == RequestProgress.WAITING;
    }

    /** Whether its answer is committed, or there will be none. */
    boolean over() {
        return progress == RequestProgress.OVER;
    }

    boolean cancelled() {
        return cancelled;
    }

    /** Begins to give the request into the hands of an incarnation of the backend. */
    Handed hand(int next) {
        InboundMessage whole = request;
        progress = RequestProgress.ENTERING;
        incarnation = next;
        HandedSink way = new HandedSink(this, next);
        holder = Optional.of(way);
        if (request.journal() instanceof JournalChange.None) {
            request = request.withoutContent();
        }
        return new Handed(this, way, whole, watch);
    }

    /**
     * The backend has done nothing of the request, and another one may get it. False where it is not in the hands of a backend any
     * more, gets its answer without one, or came back too often.
     */
    boolean giveBack(InboundMessage whole) {
        boolean waits = open() && !stopped && progress != RequestProgress.WAITING && returns++ < MOST_RETURNS;
        if (waits) {
            progress = RequestProgress.WAITING;
            incarnation = 0;
            holder = Optional.empty();
            request = whole;
            toldBefore = told;
        }
        return waits;
    }

    /** Whether the request is in these hands, or was last. */
    boolean isHeldBy(HandedSink way) {
        return holder.filter(way::equals).isPresent();
    }

    /** Whether a backend is being given the request. */
    boolean entering() {
        return progress == RequestProgress.ENTERING || progress == RequestProgress.STRANDED;
    }

    /** Whether this incarnation was lost while it was being given the request. */
    boolean stranded(int by) {
        return progress == RequestProgress.STRANDED && incarnation == by;
    }

    /** The incarnation has been given the request, if it still is in its hands. False if it was lost meanwhile. */
    boolean entered(int by) {
        boolean lost = stranded(by);
        if (entering() && incarnation == by) {
            progress = RequestProgress.RUNNING;
        }
        return !lost;
    }

    /** The backend is gone. True if the request ends with it; while that is being given it, it may still give it back. */
    boolean losesBackend() {
        if (entering()) {
            progress = RequestProgress.STRANDED;
        }
        return progress == RequestProgress.RUNNING;
    }

    /** Lets somebody follow the request, who may come too late. */
    void follow() {
        CallWatch follower = call.host().follow(this);
        if (follower == CallWatch.NONE) {
            return;
        }
        boolean late = call.host().step(step -> {
            watch = progress == RequestProgress.OVER ? CallWatch.NONE : follower;
            return progress == RequestProgress.OVER;
        });
        if (call.liveReader().isPresent()) {
            follower.attached(CallWatch.Attachment.STARTED);
        }
        if (late && cancelled) {
            follower.cancelled();
        } else if (late) {
            follower.lost();
        }
    }

    /** Who follows the request; inside a step. */
    CallWatch watch() {
        return watch;
    }

    /** Who has followed the request, which is over; told nothing more from here on. */
    CallWatch lastWatch() {
        CallWatch last = watch;
        watch = CallWatch.NONE;
        return last;
    }

    LiveCall call() {
        return call;
    }

    /** The incarnation of the backend that has the request, 0 for none. */
    int incarnation() {
        return incarnation;
    }

    /** What its client has said when it gave it up, if it has. */
    Optional<InboundMessage> cancellation() {
        return cancellation;
    }

    /** Whether the request is neither answered nor cancelled. */
    boolean open() {
        return progress.compareTo(RequestProgress.ANSWERED) < 0;
    }

    /** Whether a message still has a place on the stream. */
    boolean takes(OutboundMessage message) {
        return open() && (!EventKind.answers(message.kind()) || id().equals(message.id()));
    }

    /** Whether progress goes beyond what earlier runs of the request have told; if so, it is told now. */
    boolean tellsProgress(OptionalDouble here) {
        if (toldBefore.isPresent() && here.orElse(Double.NEGATIVE_INFINITY) <= toldBefore.getAsDouble()) {
            return false;
        }
        told = here.isPresent() ? here : told;
        return true;
    }

    /** The call is run again, and the client was told of it up to here. */
    void continues(OptionalDouble upTo) {
        told = upTo;
        toldBefore = upTo;
    }

    /** The answer stands in the outbox. */
    void answer() {
        progress = RequestProgress.ANSWERED;
    }

    /** The store does not have the answer. No backend gets the request again. */
    void unanswer() {
        progress = progress == RequestProgress.ANSWERED ? RequestProgress.RUNNING : progress;
    }

    /** The answer is committed, or there will be none. */
    void close() {
        progress = RequestProgress.OVER;
    }

    /** Nobody waits for an answer any more. False if there is one already. */
    boolean cancel(Optional<InboundMessage> notification, Step step) {
        if (!open()) {
            return false;
        }
        progress = RequestProgress.OVER;
        cancelled = true;
        cancellation = notification;
        tellBackend(step);
        CallWatch last = lastWatch();
        if (last != CallWatch.NONE) {
            step.then(last::cancelled);
        }
        return true;
    }

    /** The backend shall give up the request, which has got its answer without it. */
    void stop(Step step) {
        stopped = true;
        tellBackend(step);
    }

    boolean stopped() {
        return stopped;
    }

    private void tellBackend(Step step) {
        Optional<InboundMessage> notification = cancellation;
        holder.ifPresent(present -> step.then(() -> present.cancelled(notification)));
    }
}

package dev.holdfast.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one message at every moment: that it is certainly not sent, on its way, or perhaps sent, and where its answer can
 * come; and of its session, whether that is gone. One step decides whether an attempt begins or the loss of the session prevents it.
 * Thread-safe.
 */
final class Sending {
    /** Whether an attempt is under way, or a stream of its own that answers it. */
    private boolean underWay;

    private boolean perhapsSent;
    private boolean perhapsRuns;
    private boolean elsewhere;
    private boolean gone;
    private @Nullable Throwable unreadable;

    /** An attempt begins; false if it must not, for the session is gone. */
    synchronized boolean begins() {
        underWay = !gone;
        return underWay;
    }

    /** The attempt is over, and nobody acts on the message because of it. */
    synchronized void unsent() {
        underWay = false;
    }

    /** The attempt is over, and the server may act on the message, or have done so. */
    synchronized void inDoubt() {
        failed();
        perhapsRuns = true;
    }

    /** The attempt is over: the server has failed at the message, and may have acted on it. */
    synchronized void failed() {
        underWay = false;
        perhapsSent = true;
    }

    /** Whether the server may act on the message now, because of an attempt that is over. */
    synchronized boolean perhapsRuns() {
        return perhapsRuns;
    }

    /** Whether the server may act on the message because of an attempt that is over, or has done so. */
    synchronized boolean perhapsSent() {
        return perhapsSent;
    }

    /**
     * The server has the message, and the answer can come on another stream only; returns why it cannot be read, if it has come there
     * already and cannot.
     */
    synchronized Optional<Throwable> awaitsElsewhere() {
        inDoubt();
        elsewhere = true;
        return Optional.ofNullable(unreadable);
    }

    /** Whether the answer can come on another stream only. */
    synchronized boolean elsewhere() {
        return elsewhere;
    }

    /** The other stream is lost; returns whether the answer was to come there only. It counts once, whoever finds it out. */
    synchronized boolean lostElsewhere() {
        boolean waited = elsewhere;
        elsewhere = false;
        return waited;
    }

    /** The answer has come on another stream and cannot be read; returns whether it can come there only. */
    synchronized boolean unreadableElsewhere(Throwable why) {
        unreadable = why;
        return elsewhere;
    }

    /**
     * The session is gone: no attempt begins any more. Returns whether it ends the message, for nothing is under way that will tell
     * more of it.
     *
     * @param onOneStream whether the only stream on which an answer could come is gone too
     */
    synchronized boolean sessionGone(boolean onOneStream) {
        gone = true;
        if (underWay && !onOneStream) {
            return false;
        }
        perhapsSent |= underWay;
        underWay = false;
        return true;
    }

    /** Whether the session is gone. */
    synchronized boolean gone() {
        return gone;
    }
}

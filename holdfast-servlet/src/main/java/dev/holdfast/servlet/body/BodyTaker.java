package dev.holdfast.servlet.body;

import dev.holdfast.servlet.guard.Rejection;

/** Receives a body, or the reason why there is none. */
public interface BodyTaker {
    /** What the request takes of the memory for all. */
    RequestMemory memory();

    /** Takes the body, which has arrived completely. */
    void whole(byte[] body);

    /** Answers with a rejection and leaves the request open. May block for a moment. */
    void refuse(Rejection rejection);

    /** Ends the request with the status of a rejection alone, where no thread may block for its text. */
    void abandon(Rejection rejection);

    /** Answers with an internal error and ends the request. */
    void fail(Throwable failure);

    /** Ends the request of a rejected body: no more of it is read. */
    void end();
}

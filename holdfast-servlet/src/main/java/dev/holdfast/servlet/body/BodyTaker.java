package dev.holdfast.servlet.body;

import dev.holdfast.servlet.guard.Rejection;

/** Whom a body is for. */
public interface BodyTaker {
    /** The body has come whole. */
    void whole(byte[] body);

    /** There is no use for the body, and this is why: answers so, and leaves the request open. May block for a moment. */
    void refuse(Rejection rejection);

    /** The same where no thread has time for words: ends the request at once, with the status alone. */
    void abandon(Rejection rejection);

    /** Something that must not happen has happened to the body: answers so, and ends the request. */
    void fail(Throwable failure);

    /** Nothing of a refused body is looked at any more: ends the request. */
    void end();
}

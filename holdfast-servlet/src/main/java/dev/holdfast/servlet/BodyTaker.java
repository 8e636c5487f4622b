package dev.holdfast.servlet;

/** Whom a body is for. */
interface BodyTaker {
    /** The body has come whole. */
    void whole(byte[] body);

    /** There is no use for the body, and this is why: answers so, and leaves the request open. */
    void refuse(Rejection rejection);

    /** Nothing of a refused body is looked at any more: ends the request. */
    void end();
}

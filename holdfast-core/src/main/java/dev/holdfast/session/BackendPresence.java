package dev.holdfast.session;

/** What there is of a session's backend on this node. */
enum BackendPresence {
    THERE,
    /** It was here and is gone, and nobody has asked for another. */
    MISSING,
    /** One is on its way, or there never was one here. */
    PENDING
}

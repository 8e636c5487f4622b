package dev.holdfast.servlet;

/** Which revisions of the protocol are served. */
public enum Protocols {
    /**
     * Those with an {@code initialize} handshake, up to 2025-11-25. A client of a later one is told so in a way that makes it fall
     * back.
     */
    LEGACY,
    /** All. */
    BOTH,
    /** The stateless ones, from 2026-07-28 on. */
    MODERN
}

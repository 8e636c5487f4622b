package dev.holdfast.spi;

/**
 * The fencing mark of one claim on a session. The random half makes sure that a claim which was lost with its store's tail can
 * never be repeated by accident.
 *
 * @param counter 1 at the session's creation, one more at each claim
 * @param nonce 32 random bits, drawn at each claim
 */
public record Epoch(int counter, int nonce) {}

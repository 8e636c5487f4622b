package dev.holdfast.spi;

/**
 * The name of a stream in its session; never used again.
 *
 * @param epoch the counter of the epoch that created it
 * @param number 0 is the listening stream, request streams of one node count from 1 within their epoch; those of
 *     calls that another node has sent there have greater numbers of that node's
 */
public record StreamId(int epoch, long number) {
    /** The listening stream of every session. */
    public static final StreamId LISTENING = new StreamId(0, 0);
}

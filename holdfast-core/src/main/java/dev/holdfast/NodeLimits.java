package dev.holdfast;

/**
 * How much an engine may hold over all its sessions.
 *
 * <p>At {@code sessions}, and for a named principal at {@code principalSessions}, a new session takes the place of one that is
 * neither attached nor running a call: of those that were never used the oldest, if they are more than an eighth of all; else
 * the one that is detached for longest, else the one that is idle for longest. Where there is none, or none whose messages the store
 * has taken, the new one is refused.
 *
 * <p>Where nodes share the store, {@code principalSessions} is also the limit for all nodes
 * together: a session counts once, on however many nodes it is, also while it waits in the store. There a new session takes the place of
 * one that waits in the store and would be the next to expire, or of one on its own node as above.
 *
 * <p>History is all that sessions keep: messages for their clients, their journals, and messages that wait for a backend.
 * When that of all sessions exceeds its bytes or its messages, the largest histories are shortened first, by the same
 * order in which a session drops its own; so noisy sessions shorten their own histories only. No session is shortened below its
 * fair share, the limit divided by the number of sessions that keep something: if others keep more and must not drop it, the
 * largest of them end with {@link EndReason#OVERFLOW}.
 *
 * <p>Where a named principal keeps more than {@code principalShare} of that limit, its sessions alone come down, below that fair share too.
 *
 * <p>Where the store outlives this process, a session that was used is not ended for another but parked, as long as those that
 * are parked are no more than ten times what may be in memory: {@code sessions}, {@code principalSessions}, {@code historyBytes}.
 * Where nodes share the store, each counts those that it has parked, until they come back to it or the store forgets them.
 *
 * @param sessions 1 to 10,000,000. Default 10,000
 * @param principalSessions sessions of one named principal, 1 to 10,000,000. Default 1,000
 * @param runningCalls requests in flight, 1 to 10,000,000; those of a batch count one by one. Default 10,000
 * @param historyBytes bytes that are kept, at least 1 KiB. Default a quarter of the JVM's maximum heap
 * @param historyEvents kept messages, at least 16. Default 1,000,000
 * @param principalShare percent that one named principal may have of the running calls, of the history where that is full, of the bytes
 *     that are parked, of a backend's connections and of the memory for requests, 1 to 100. Default 50
 */
public record NodeLimits(
        int sessions,
        int principalSessions,
        int runningCalls,
        long historyBytes,
        long historyEvents,
        int principalShare) {
    private static final int MOST = 10_000_000;

    /** The defaults named above. */
    public static final NodeLimits DEFAULT =
            new NodeLimits(10_000, 1_000, 10_000, Runtime.getRuntime().maxMemory() / 4, 1_000_000, 50);

    public NodeLimits {
        Range.require("sessions", sessions, 1, MOST);
        Range.require("principalSessions", principalSessions, 1, MOST);
        Range.require("runningCalls", runningCalls, 1, MOST);
        Range.require("historyBytes", historyBytes, 1L << 10, Long.MAX_VALUE);
        Range.require("historyEvents", historyEvents, 16, Long.MAX_VALUE);
        Range.require("principalShare", principalShare, 1, 100);
    }

    /** The same with another number of {@link #sessions}. */
    public NodeLimits withSessions(int value) {
        return new NodeLimits(value, principalSessions, runningCalls, historyBytes, historyEvents, principalShare);
    }

    /** The same with another number of {@link #principalSessions}. */
    public NodeLimits withPrincipalSessions(int value) {
        return new NodeLimits(sessions, value, runningCalls, historyBytes, historyEvents, principalShare);
    }

    /** The same with another number of {@link #runningCalls}. */
    public NodeLimits withRunningCalls(int value) {
        return new NodeLimits(sessions, principalSessions, value, historyBytes, historyEvents, principalShare);
    }

    /** The same with other {@link #historyBytes} and {@link #historyEvents}. */
    public NodeLimits withHistory(long bytes, long events) {
        return new NodeLimits(sessions, principalSessions, runningCalls, bytes, events, principalShare);
    }

    /** The same with another {@link #principalShare}. */
    public NodeLimits withPrincipalShare(int percent) {
        return new NodeLimits(sessions, principalSessions, runningCalls, historyBytes, historyEvents, percent);
    }
}

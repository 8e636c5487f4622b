package dev.holdfast;

/**
 * How much a session may hold. What is dropped when a limit is reached, in order: progress and log notifications, other
 * notifications and each {@code ping} of the server, its requests that are answered or whose call is over, responses whose connection
 * ended in order. Never dropped: a response whose connection did not, any other unanswered request of the server. If those alone
 * exceed {@code sessionBytes}, the session ends with {@link EndReason#OVERFLOW}. A response of more than 1/64 of {@code sessionBytes}
 * that would fill more than 63/64 of it together with those ends its call with an error instead.
 *
 * @param streamBytes bytes of kept messages per stream, 1 KiB to 1 GiB. Default 4 MiB
 * @param streamEvents kept messages per stream, 16 to 1,000,000. Default 4,096
 * @param sessionBytes bytes of kept messages per session, 1 KiB to 4 GiB. Default 16 MiB
 * @param sessionEvents kept messages per session, 16 to 1,000,000. Default 8,192
 * @param finishedStreams streams kept whole after they ended in order, 0 to 1,024; all of them together have an eighth of {@code
 *     sessionBytes} at most, unless it is one alone. Default 256
 * @param runningCalls requests in flight, 1 to 100,000; those of a batch count one by one. Default 64
 */
public record SessionLimits(
        long streamBytes,
        int streamEvents,
        long sessionBytes,
        int sessionEvents,
        int finishedStreams,
        int runningCalls) {
    /** The defaults named above. */
    public static final SessionLimits DEFAULT = new SessionLimits(4L << 20, 4096, 16L << 20, 8192, 256, 64);

    public SessionLimits {
        Range.require("streamBytes", streamBytes, 1L << 10, 1L << 30);
        Range.require("streamEvents", streamEvents, 16, 1_000_000);
        Range.require("sessionBytes", sessionBytes, 1L << 10, 4L << 30);
        Range.require("sessionEvents", sessionEvents, 16, 1_000_000);
        Range.require("finishedStreams", finishedStreams, 0, 1024);
        Range.require("runningCalls", runningCalls, 1, 100_000);
    }
}

package dev.holdfast.benchmarks.load;

/**
 * What the connections of a load do: each calls a tool, waits for the whole answer, and calls again.
 *
 * @param name how it is called in results
 * @param tool the tool
 * @param arguments its arguments, in JSON
 * @param connections how many, each with one call at a time
 * @param sessions whose session a connection uses
 */
public record Workload(String name, String tool, String arguments, int connections, Sessions sessions) {

    /** How many sessions there are. */
    public enum Sessions {
        /** Each connection has its own. */
        EACH,
        /** All connections share one. */
        SHARED,
        /** There are none: each call is one of 2026-07-28. */
        NONE
    }

    private static final int CONNECTIONS = 64;

    /** A short text there and back. */
    public static final Workload ECHO =
            new Workload("echo", "echo", "{\"text\":\"hello\"}", CONNECTIONS, Sessions.EACH);

    /** The same with all connections on one session. */
    public static final Workload SHARED =
            new Workload("one session", "echo", "{\"text\":\"hello\"}", CONNECTIONS, Sessions.SHARED);

    /** Ten notifications on the stream of each call before its answer. */
    public static final Workload PROGRESS =
            new Workload("10 notifications", "report", "{\"count\":10}", CONNECTIONS, Sessions.EACH);

    /** Answers of 64 KB. */
    public static final Workload LARGE = new Workload("64 KB", "bytes", "{\"count\":65536}", 16, Sessions.EACH);

    /** Answers of 1 MB. */
    public static final Workload HUGE = new Workload("1 MB", "bytes", "{\"count\":1048576}", 4, Sessions.EACH);

    /** Few connections, as many as a gateway in front of one child has. */
    public static final Workload FEW = new Workload("echo", "echo", "{\"text\":\"hello\"}", 16, Sessions.EACH);

    /** Connections that call nothing, and listen. */
    public static Workload listening(String name, int connections) {
        return new Workload(name, "", "", connections, Sessions.EACH);
    }

    /** The same by requests that name no session. */
    public Workload stateless() {
        return new Workload(name, tool, arguments, connections, Sessions.NONE);
    }

    /** The same over another number of connections. */
    public Workload over(int number) {
        return new Workload(name, tool, arguments, number, sessions);
    }
}

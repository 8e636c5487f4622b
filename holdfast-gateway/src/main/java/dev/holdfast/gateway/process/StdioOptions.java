package dev.holdfast.gateway.process;

import java.time.Duration;

/**
 * Bounds and times of child processes.
 *
 * @param startTimeout how long a child may take from its start to its answer to {@code initialize}. Default 30 s
 * @param lineBytes how long a line of a child's output may be. Default 16 MiB
 * @param queuedBytes how much may wait for a child that does not read its input. Default 16 MiB
 * @param uncommittedBytes how much of a child's output may wait for the store before no more of it is read. Default 1 MiB
 * @param closeGrace how long a child may take to end once its input is closed. Default 2 s
 * @param termGrace how long a process group may take to end after TERM, before KILL. Default 2 s
 * @param pingTimeout how long a child may take for a ping, once a call has taken too long. Default 10 s
 * @param showErrors whether clients are told what a child that does not start says on its error output. Default true
 */
public record StdioOptions(
        Duration startTimeout,
        int lineBytes,
        long queuedBytes,
        long uncommittedBytes,
        Duration closeGrace,
        Duration termGrace,
        Duration pingTimeout,
        boolean showErrors) {
    /** The defaults named above. */
    public static final StdioOptions DEFAULT = new StdioOptions(
            Duration.ofSeconds(30),
            16 << 20,
            16 << 20,
            1 << 20,
            Duration.ofSeconds(2),
            Duration.ofSeconds(2),
            Duration.ofSeconds(10),
            true);

    /** The same with another {@link #startTimeout}. */
    public StdioOptions withStartTimeout(Duration value) {
        return new StdioOptions(
                value, lineBytes, queuedBytes, uncommittedBytes, closeGrace, termGrace, pingTimeout, showErrors);
    }

    /** The same, but that clients are not told what children say on their error output. */
    public StdioOptions withoutErrors() {
        return new StdioOptions(
                startTimeout, lineBytes, queuedBytes, uncommittedBytes, closeGrace, termGrace, pingTimeout, false);
    }
}

package dev.holdfast.gateway.process;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;
import java.util.Set;

/**
 * Starts children, and signals each together with all that it has started. For many of them at once it takes no longer than for one. The
 * methods may block for milliseconds.
 */
public interface Processes {
    /** The signal by which a process is told to end. */
    enum Signal {
        TERM,
        KILL
    }

    /** Starts a program. */
    Process start(ServerCommand command) throws IOException;

    /** Asks these children, and all that they started, to end. */
    void signal(Collection<Process> children, Signal signal);

    /** Those of which a process still runs; a zombie does not. */
    Set<Process> running(Collection<Process> children);

    /** Process groups where {@code setsid} is installed, else process trees. */
    static Processes ofThisMachine() {
        Optional<Path> setsid = ServerCommand.find("setsid");
        return setsid.isPresent() ? new ProcessGroups(setsid.get()) : new ProcessTrees();
    }
}

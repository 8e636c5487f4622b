package dev.holdfast.gateway;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Starts processes that can be ended with all their descendants: in a process group of their own where the system has {@code
 * setsid}.
 */
@FunctionalInterface
interface ProcessStarter {
    /** Starts a program; blocks for milliseconds. */
    Started start(List<String> words) throws IOException;

    /** A process and the group it leads. */
    record Started(Process process, ProcessGroup group) {}

    /** The best way that this machine has. */
    static ProcessStarter ofThisMachine() {
        Optional<Path> setsid = ServerCommand.find("setsid");
        return setsid.isPresent() ? words -> startWith(setsid.get(), words) : ProcessStarter::startPlain;
    }

    /** A Java child never leads a group, so {@code setsid} does not fork: the child's pid is the group's number. */
    private static Started startWith(Path setsid, List<String> words) throws IOException {
        List<String> all = new ArrayList<>(words.size() + 1);
        all.add(setsid.toString());
        all.addAll(words);
        Process process = new ProcessBuilder(all).start();
        return new Started(process, new SessionGroup(process.pid()));
    }

    /** Without a group of its own. */
    static Started startPlain(List<String> words) throws IOException {
        Process process = new ProcessBuilder(words).start();
        return new Started(process, new ProcessTree(process.toHandle()));
    }
}

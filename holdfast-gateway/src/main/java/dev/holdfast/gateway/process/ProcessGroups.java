package dev.holdfast.gateway.process;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Children that each lead a process group, made by {@code setsid}; the number of the group is that of the child. The shell's own
 * {@code kill}, which every system has, signals many groups at once.
 */
final class ProcessGroups implements Processes {
    private static final Logger log = LoggerFactory.getLogger(ProcessGroups.class);
    private static final long SHELL_SECONDS = 5;
    /** How many group numbers fit into one command line on any system. */
    private static final int GROUPS_AT_ONCE = 1_000;

    private static final File NULL = new File("/dev/null");

    private final Path setsid;

    ProcessGroups(Path setsid) {
        this.setsid = setsid;
    }

    /** A Java child never leads a group, so {@code setsid} does not fork: the child's pid is the group's number. */
    @Override
    public Process start(ServerCommand command) throws IOException {
        return command.process(List.of(setsid.toString())).start();
    }

    @Override
    public void signal(Collection<Process> children, Signal signal) {
        kill(groups(children), signal.name());
        if (signal == Signal.KILL) {
            children.forEach(Process::destroyForcibly);
        }
    }

    @Override
    public Set<Process> running(Collection<Process> children) {
        Optional<Set<Long>> groups = ProcessTable.groups();
        // The table shows that a child has ended before the JDK has its exit code, which the kernel gives the later the
        // more files this process has open.
        Set<Long> running = groups.orElseGet(() -> existing(groups(children)));
        Predicate<Process> runs = child -> running.contains(child.pid()) || (groups.isEmpty() && child.isAlive());
        return children.stream().filter(runs).collect(Collectors.toSet());
    }

    private static List<Long> groups(Collection<Process> children) {
        return children.stream().map(Process::pid).toList();
    }

    /** Sends a signal to every process of these groups. */
    private static void kill(List<Long> groups, String signal) {
        run("signal=$1; shift; kill -s \"$signal\" -- \"$@\"", signal, groups);
    }

    /** Those groups that have a process, be it one that has ended; all of them if that cannot be told. */
    private static Set<Long> existing(List<Long> groups) {
        return run("shift; for group; do kill -s 0 -- \"$group\" && echo \"$group\"; done", "0", groups)
                .lines()
                .map(group -> -Long.parseLong(group))
                .collect(Collectors.toSet());
    }

    private static String run(String script, String signal, List<Long> groups) {
        StringBuilder said = new StringBuilder();
        for (int from = 0; from < groups.size(); from += GROUPS_AT_ONCE) {
            List<Long> some = groups.subList(from, Math.min(groups.size(), from + GROUPS_AT_ONCE));
            List<String> words = new ArrayList<>(List.of("/bin/sh", "-c", script, "kill", signal));
            some.forEach(group -> words.add("-" + group));
            try {
                said.append(run(words));
            } catch (IOException e) {
                log.error("no shell to signal {} process groups with", some.size(), e);
                some.forEach(group -> said.append('-').append(group).append('\n'));
            }
        }
        return said.toString();
    }

    /** Runs a shell command with little output that ends soon. */
    private static String run(List<String> words) throws IOException {
        Process shell = new ProcessBuilder(words)
                .redirectInput(Redirect.from(NULL))
                .redirectError(Redirect.DISCARD)
                .start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        try {
            if (!shell.waitFor(SHELL_SECONDS, TimeUnit.SECONDS)) {
                shell.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return said;
    }
}

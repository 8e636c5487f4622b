package dev.holdfast.gateway.process;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that do not keep the process alive, with names of their own. */
public final class DaemonThreads {
    private DaemonThreads() {}

    /** A factory for the only thread of this name. */
    public static ThreadFactory named(String name) {
        return task -> daemon(task, name);
    }

    /** A factory for threads whose names are numbered from 1. */
    public static ThreadFactory numbered(String prefix) {
        AtomicInteger count = new AtomicInteger();
        return task -> daemon(task, prefix + count.incrementAndGet());
    }

    /** Runs each task on a new thread of this name. */
    public static Executor starting(String name) {
        return task -> daemon(task, name).start();
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}

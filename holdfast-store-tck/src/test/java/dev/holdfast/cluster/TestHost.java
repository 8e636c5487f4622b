package dev.holdfast.cluster;

import dev.holdfast.session.ClusterMembership;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The engine of a node whose time a test moves on, and which has no session. */
final class TestHost {
    static final Duration LEASE = Duration.ofSeconds(3);

    final AtomicLong nanos = new AtomicLong();
    /** What is to be done later, and is done when a test says so. */
    final Deque<Runnable> later = new ArrayDeque<>();
    /** What it was told of the store. */
    final List<Boolean> told = new ArrayList<>();

    /** Looks at what is so at the moment in which it is told. */
    Runnable whenTold = () -> {};

    private final AtomicLong names = new AtomicLong();
    private final ScheduledExecutorService unused = Executors.newSingleThreadScheduledExecutor();
    final ClusterMembership.Host engine = (ClusterMembership.Host) Proxy.newProxyInstance(
            ClusterMembership.Host.class.getClassLoader(),
            new Class<?>[] {ClusterMembership.Host.class},
            (proxy, method, args) -> {
                switch (method.getName()) {
                    case "setting" -> {
                        return new ClusterMembership.Setting(
                                "node", LEASE, 1, nanos::get, unused, names::incrementAndGet);
                    }
                    case "storeWorks" -> {
                        told.add((Boolean) args[0]);
                        whenTold.run();
                    }
                    case "later" -> later.add((Runnable) args[0]);
                    case "session" -> {
                        return Optional.empty();
                    }
                    default -> throw new UnsupportedOperationException(method.getName());
                }
                return null;
            });

    /** The name of an incarnation. */
    static String name(int number) {
        return "node-%016x".formatted(number);
    }

    void passes(long time, TimeUnit unit) {
        nanos.addAndGet(unit.toNanos(time));
    }
}

package dev.holdfast.engine;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.LimitedBackend.BackendPlaces;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * Engines of one process, each for another backend, that share what the machine has: the connections of those backends that {@linkplain
 * dev.holdfast.spi.Backend#mostConnections limit} them, and the memory for what sessions keep. Where all connections are taken, that
 * engine makes room which has most sessions in memory. Of the history that {@link dev.holdfast.NodeLimits} allow, an engine may have what
 * the others leave, and its part, the limit over the number of engines, in any case. Give the engines one {@link dev.holdfast.ByteBudget}
 * too. Safe for use by any thread.
 */
public final class EngineGroup {
    /** That of an engine that shares nothing. */
    static final EngineGroup NONE = new EngineGroup();

    private final Optional<BackendPlaces> places;
    private final int mostConnections;
    /** Replaced as a whole, and never modified: each message reads it without a lock. */
    private volatile Member[] members = {};

    /** What the sessions of an engine keep. */
    interface Kept {
        long bytes();

        long events();
    }

    /**
     * One of the engines.
     *
     * @param sessions how many it has in memory
     * @param release ends a connection that nobody uses, of a principal, or of any for the empty one
     */
    private record Member(Kept kept, IntSupplier sessions, Predicate<String> release) {}

    private EngineGroup() {
        this.places = Optional.empty();
        this.mostConnections = 0;
    }

    /**
     * A group without engines.
     *
     * @param mostConnections how many connections there may be at once in all of them, 1 and up
     * @param principalShare percent of them that one named principal may have, 1 to 100
     * @param clock tells nanoseconds, as that of the engines
     * @param scheduler where timed work runs; its tasks do not block
     * @param executor where backends are opened that have waited for a place; it may be blocked there
     */
    public EngineGroup(
            int mostConnections,
            int principalShare,
            LongSupplier clock,
            ScheduledExecutorService scheduler,
            Executor executor) {
        this.mostConnections = mostConnections;
        this.places = Optional.of(new BackendPlaces(
                new Quota(mostConnections, principalShare, Refusal.BACKENDS),
                this::makeRoom,
                clock,
                scheduler,
                executor));
    }

    /** The places of a backend with such a limit of its own, where its engine shares them. */
    Optional<BackendPlaces> places(int most) {
        return most == Integer.MAX_VALUE ? Optional.empty() : places;
    }

    /** Whether a limit of a backend's own is none beside that of the group. */
    boolean allows(int most) {
        return places.isPresent() && most >= mostConnections;
    }

    synchronized void join(Kept kept, IntSupplier sessions, Predicate<String> release) {
        if (places.isPresent()) {
            List<Member> more = new ArrayList<>(Arrays.asList(members));
            more.add(new Member(kept, sessions, release));
            members = more.toArray(Member[]::new);
        }
    }

    synchronized void leave(Kept kept) {
        members = Arrays.stream(members).filter(member -> member.kept != kept).toArray(Member[]::new);
    }

    /** How much of a limit an engine may have now. */
    long room(Kept own, long limit, ToLongFunction<Kept> amount) {
        Member[] all = members;
        long others = 0;
        for (Member member : all) {
            others += member.kept == own ? 0 : amount.applyAsLong(member.kept);
        }
        return all.length < 2 ? limit : Math.max(limit / all.length, limit - others);
    }

    private boolean makeRoom(String principal) {
        return Arrays.stream(members)
                // counted once, since the order must not change while it is made
                .map(member -> Map.entry(member.sessions.getAsInt(), member))
                .sorted(Map.Entry.comparingByKey(Comparator.reverseOrder()))
                .anyMatch(member -> member.getValue().release.test(principal));
    }
}

package dev.holdfast.session;

import dev.holdfast.log.LazyQueue;
import dev.holdfast.log.Step;
import dev.holdfast.spi.InboundMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ObjLongConsumer;

/** Those who wait for a session's backend, in order, and how much they bring. */
final class BackendQueue {
    private static final int MOST = 10_000;

    /**
     * Somebody who waits.
     *
     * @param bytes how much it brought when it came, which may change while it waits
     */
    private record Waiting(BackendUser user, long bytes) {}

    private final LazyQueue<Waiting> users = new LazyQueue<>();
    private final long mostBytes;
    private final ObjLongConsumer<Step> weight;
    private long bytes;

    /**
     * @param mostBytes how much all who wait may bring
     * @param weight learns by how many bytes that grows or shrinks
     */
    BackendQueue(long mostBytes, ObjLongConsumer<Step> weight) {
        this.mostBytes = mostBytes;
        this.weight = weight;
    }

    /** Lets one more wait, if there is room. */
    boolean add(BackendUser user, Step step) {
        Waiting next = new Waiting(user, user.bytes());
        if (users.size() >= MOST || bytes + next.bytes > mostBytes) {
            return false;
        }
        users.addLast(next);
        grows(next.bytes, step);
        return true;
    }

    /** Lets more wait; returns those for whom there is no room. */
    List<BackendUser> addAll(List<? extends BackendUser> more, Step step) {
        List<BackendUser> turnedAway = new ArrayList<>(0);
        for (BackendUser user : more) {
            if (!add(user, step)) {
                turnedAway.add(user);
            }
        }
        return turnedAway;
    }

    Optional<BackendUser> takeFirst(Step step) {
        Optional<Waiting> first = users.takeFirst();
        first.ifPresent(gone -> grows(-gone.bytes, step));
        return first.map(Waiting::user);
    }

    /** The context of the first message that waits and has one. */
    Object context() {
        return users.stream()
                .map(waiting -> waiting.user.context())
                .filter(context -> context != InboundMessage.NO_CONTEXT)
                .findFirst()
                .orElse(InboundMessage.NO_CONTEXT);
    }

    /** Tells all that they will not get the backend. */
    void refuseAll(String cause, Step step) {
        takeAll(step).forEach(user -> user.turnAway(cause, step));
    }

    /** Lets all go, in order. */
    List<BackendUser> takeAll(Step step) {
        grows(-bytes, step);
        return users.takeAll().stream().map(Waiting::user).toList();
    }

    boolean isEmpty() {
        return users.isEmpty();
    }

    private void grows(long more, Step step) {
        bytes += more;
        weight.accept(step, more);
    }
}

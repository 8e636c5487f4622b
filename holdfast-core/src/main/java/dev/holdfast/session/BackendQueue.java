package dev.holdfast.session;

import dev.holdfast.log.Effects;
import dev.holdfast.log.LazyQueue;
import dev.holdfast.spi.InboundMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;

/** Those who wait for a session's backend, in order, and how much they bring. Used inside a step. */
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
    private final LongConsumer weight;
    private long bytes;

    /**
     * @param mostBytes how much all who wait may bring
     * @param weight learns by how many bytes that grows or shrinks
     */
    BackendQueue(long mostBytes, LongConsumer weight) {
        this.mostBytes = mostBytes;
        this.weight = weight;
    }

    /** Lets one more wait, if there is room. */
    boolean add(BackendUser user) {
        Waiting next = new Waiting(user, user.bytes());
        if (users.size() >= MOST || bytes + next.bytes > mostBytes) {
            return false;
        }
        users.addLast(next);
        grows(next.bytes);
        return true;
    }

    /** Lets more wait; returns those for whom there is no room. */
    List<BackendUser> addAll(List<? extends BackendUser> more) {
        List<BackendUser> turnedAway = new ArrayList<>(0);
        for (BackendUser user : more) {
            if (!add(user)) {
                turnedAway.add(user);
            }
        }
        return turnedAway;
    }

    Optional<BackendUser> takeFirst() {
        Optional<Waiting> first = users.takeFirst();
        first.ifPresent(gone -> grows(-gone.bytes));
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
    void refuseAll(String cause, Effects effects) {
        takeAll().forEach(user -> user.turnAway(cause, effects));
    }

    /** Lets all go, in order. */
    List<BackendUser> takeAll() {
        grows(-bytes);
        return users.takeAll().stream().map(Waiting::user).toList();
    }

    boolean isEmpty() {
        return users.isEmpty();
    }

    private void grows(long more) {
        bytes += more;
        weight.accept(more);
    }
}

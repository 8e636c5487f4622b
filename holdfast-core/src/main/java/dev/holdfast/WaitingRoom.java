package dev.holdfast;

import dev.holdfast.BackendSlot.User;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;

/** Those who wait for a session's backend, in order, and how much they bring. Guarded by the session's lock. */
final class WaitingRoom {
    private static final int MOST = 10_000;

    private final LazyQueue<User> users = new LazyQueue<>();
    private final long mostBytes;
    private final LongConsumer weight;
    private long bytes;

    /**
     * @param mostBytes how much all who wait may bring
     * @param weight learns by how many bytes that grows or shrinks
     */
    WaitingRoom(long mostBytes, LongConsumer weight) {
        this.mostBytes = mostBytes;
        this.weight = weight;
    }

    /** Lets one more wait, if there is room. */
    boolean add(User user) {
        if (users.size() >= MOST || bytes + user.bytes() > mostBytes) {
            return false;
        }
        users.addLast(user);
        grows(user.bytes());
        return true;
    }

    Optional<User> takeFirst() {
        Optional<User> first = users.takeFirst();
        first.ifPresent(user -> grows(-user.bytes()));
        return first;
    }

    /** Lets all go, in order. */
    List<User> takeAll() {
        grows(-bytes);
        return users.takeAll();
    }

    boolean isEmpty() {
        return users.isEmpty();
    }

    private void grows(long more) {
        bytes += more;
        weight.accept(more);
    }
}

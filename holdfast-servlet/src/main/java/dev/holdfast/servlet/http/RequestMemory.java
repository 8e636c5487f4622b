package dev.holdfast.servlet.http;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The memory that one request takes, from the first byte of its body until nobody uses it any more: neither the edge, which has yet to
 * answer it, nor the call that it has become. All requests of an endpoint share a quota; what a byte and a value of a body take is for
 * the backend to say. Its amount changes on one thread at a time; safe for use by any thread else.
 */
public final class RequestMemory {
    /** A request of so many bytes finds room also where large ones fill most of it. */
    private static final int SMALL = 64 << 10;

    private final Quota quota;
    private final Cost cost;
    private final AtomicInteger users = new AtomicInteger();
    private final Runnable edge;
    private String principal = "";
    private long held;

    /** What a backend needs for a request. */
    public interface Cost {
        /** How many bytes of memory a body takes that has so many bytes and JSON tokens. */
        long of(long bytes, long tokens);
    }

    /** A request of which nothing has come. */
    public RequestMemory(Quota quota, Cost cost) {
        this.quota = quota;
        this.cost = cost;
        this.edge = use();
    }

    /** Notes who asks, before a body comes. */
    public void principal(String known) {
        principal = known;
    }

    /** Why a body that announces so many bytes cannot come, if it cannot. */
    Optional<Rejection> check(long announced) {
        long needed = cost.of(announced, 0);
        return needed <= SMALL
                ? Optional.empty()
                : tooLarge(needed)
                        .or(() -> quota.refusal(principal, needed).map(Rejection::of))
                        .map(RequestMemory::lastOfConnection);
    }

    /** Takes what is needed for so many bytes, where less may be held already; or says why it cannot. */
    Optional<Rejection> grow(long bytes) {
        return hold(cost.of(bytes, 0)).map(RequestMemory::lastOfConnection);
    }

    /** The body has come, and has so many bytes. */
    void whole(long bytes) {
        giveBack(held - cost.of(bytes, 0));
    }

    /** Takes what is needed to handle a body that was looked through; or says why it cannot. */
    public Optional<Rejection> handle(long bytes, long tokens) {
        return hold(cost.of(bytes, tokens));
    }

    /** What else comes of the body is not read. */
    private static Rejection lastOfConnection(Rejection rejection) {
        return rejection.with("Connection", "close");
    }

    private Optional<Rejection> hold(long needed) {
        if (needed <= held) {
            return Optional.empty();
        }
        Optional<Refusal> refusal =
                needed <= SMALL ? quota.take(principal, needed - held) : quota.takeLarge(principal, needed - held);
        if (refusal.isEmpty()) {
            held = needed;
            return Optional.empty();
        }
        return tooLarge(needed).or(() -> refusal.map(Rejection::of));
    }

    /** Where no other request needed to go for this one to find room, it would be told to come back for ever. */
    private Optional<Rejection> tooLarge(long needed) {
        long most = quota.mostLarge(principal);
        return needed <= Math.max(most, SMALL)
                ? Optional.empty()
                : Optional.of(Rejection.tooMuchMemory()
                        .because("a request needs " + needed + " bytes of memory and may have " + most
                                + ": give the JVM a larger heap"));
    }

    /** Gives all back, where nobody needs the body; a second time does nothing. */
    void drop() {
        giveBack(held);
    }

    private void giveBack(long bytes) {
        held -= bytes;
        quota.add(principal, -bytes);
    }

    /** Counts one more user, until what is returned is run; once, however often that is. */
    public Runnable use() {
        users.incrementAndGet();
        AtomicBoolean over = new AtomicBoolean();
        return () -> {
            if (!over.getAndSet(true) && users.decrementAndGet() == 0) {
                drop();
            }
        };
    }

    /** The edge needs it no more. */
    public void answered() {
        edge.run();
    }
}

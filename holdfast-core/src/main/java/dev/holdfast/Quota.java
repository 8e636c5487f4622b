package dev.holdfast;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An amount of something that all clients of a node share: memory, calls, backends. A named principal may have a part of it only, so that
 * another one always finds some left; nobody in particular, the empty principal, has no limit of its own. A quarter is for small amounts
 * alone, so that they get through where large ones fill the rest. Safe for use by any thread.
 */
public final class Quota {
    /** The part of the limit that is for amounts which are not large. */
    private static final int RESERVE = 4;

    private static final Optional<Refusal> SHARE = Optional.of(Refusal.PRINCIPAL_SHARE);

    private final long limit;
    private final long share;
    private final Optional<Refusal> full;
    private final ByteBudget whole;
    private final AtomicLong taken = new AtomicLong();
    private final Map<String, Long> ofPrincipals = new ConcurrentHashMap<>();

    /**
     * A quota of which nothing is taken.
     *
     * @param limit how much there is
     * @param sharePercent how much of it a named principal may have, 1 to 100, rounded up
     * @param full why somebody gets none where all is taken
     */
    public Quota(long limit, int sharePercent, Refusal full) {
        this(limit, sharePercent, full, ByteBudget.withoutLimit());
    }

    /** The same, of bytes that are a part of a budget: where that is full too, nobody gets any. */
    public Quota(long limit, int sharePercent, Refusal full, ByteBudget whole) {
        this.limit = limit;
        this.share = limit / 100 * sharePercent + (limit % 100 * sharePercent + 99) / 100;
        this.full = Optional.of(full);
        this.whole = whole;
        whole.count(this, taken::get);
    }

    /** Takes an amount; empty if it is taken, else why it is not. */
    public Optional<Refusal> take(String principal, long amount) {
        return take(principal, amount, false);
    }

    /** Takes a large amount, for which three quarters are there. */
    public Optional<Refusal> takeLarge(String principal, long amount) {
        return take(principal, amount, true);
    }

    private Optional<Refusal> take(String principal, long amount, boolean large) {
        boolean exceeded = taken.addAndGet(amount) > (large ? limit - limit / RESERVE : limit);
        if (exceeded || !(large ? whole.fitsLarge(0) : whole.fits(0))) {
            taken.addAndGet(-amount);
            return full;
        }
        if (!principal.isEmpty() && addOf(principal, amount) > (large ? share - share / RESERVE : share)) {
            add(principal, -amount);
            return SHARE;
        }
        return Optional.empty();
    }

    /** Takes an amount, whether there is room for it or not; gives it back where it is less than 0. */
    public void add(String principal, long amount) {
        taken.addAndGet(amount);
        if (!principal.isEmpty()) {
            addOf(principal, amount);
        }
    }

    /** Why an amount could not be taken now, if it could not. */
    public Optional<Refusal> refusal(String principal, long amount) {
        if (amount > limit - taken.get() || !whole.fits(amount)) {
            return full;
        }
        return !principal.isEmpty() && taken(principal) + amount > share ? SHARE : Optional.empty();
    }

    /** Whether a principal has all that it may have once it has so much more. */
    public boolean hasShare(String principal, long more) {
        return !principal.isEmpty() && taken(principal) + more >= share;
    }

    /** How much of it is taken. */
    public long taken() {
        return taken.get();
    }

    /** How much of it a principal has. */
    public long taken(String principal) {
        return principal.isEmpty() ? 0 : ofPrincipals.getOrDefault(principal, 0L);
    }

    /** The largest amount that a principal can ever take. */
    public long mostLarge(String principal) {
        long most = principal.isEmpty() ? limit : share;
        return most - most / RESERVE;
    }

    /** Returns what the principal has then; 0 where there is none. */
    private long addOf(String principal, long amount) {
        if (amount == 0) {
            return 0;
        }
        Long now = ofPrincipals.merge(principal, amount, (one, other) -> one + other == 0 ? null : one + other);
        return now == null ? 0 : now;
    }
}

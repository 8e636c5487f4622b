package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.rocksdb.RocksDBException;

/**
 * Copies every session that can be read whole from a damaged database into a fresh one, and makes its index anew. RocksDB itself
 * never gets rid of a damaged block: it takes no more writes once it has met one while it compacts.
 */
final class Salvage {
    private static final int FIRST_STEP_BITS = 32;
    private static final BigInteger NAMES = BigInteger.ONE.shiftLeft(Long.SIZE);

    private final Database from;
    private final Database to;
    private final Set<SessionKey> saved = new HashSet<>();
    /** The session whose keys come now. */
    private byte[] prefix = {};

    private Changes changes = new Changes();
    private boolean whole;

    Salvage(Database from, Database to) {
        this.from = from;
        this.to = to;
    }

    /** Does it; returns how many sessions are known to be lost. */
    long run() throws RocksDBException {
        byte[] at = Keys.sessions();
        boolean more = true;
        while (more) {
            try {
                from.scan(at, Keys.afterSessions(), this::take);
                more = false;
            } catch (RocksDBException e) {
                requireDamage(e);
                whole = false;
                at = behind(prefix.length == 0 ? at : prefix);
                more = at.length > 0;
            }
            finish();
        }
        to.sync();
        return lost();
    }

    private static void requireDamage(RocksDBException e) throws RocksDBException {
        if (!Database.isCorrupt(e) && !String.valueOf(e.getMessage()).contains("No such file")) {
            // what fails now may be read later
            throw e;
        }
    }

    private boolean take(byte[] key, byte[] value) {
        if (key.length <= Keys.PREFIX) {
            return true;
        }
        if (!Arrays.equals(key, 0, Keys.PREFIX, prefix, 0, prefix.length)) {
            finish();
            prefix = Arrays.copyOf(key, Keys.PREFIX);
            whole = Keys.what(key) == Keys.HEADER && index(value);
        }
        changes.put(key, value);
        return true;
    }

    private boolean index(byte[] header) {
        try {
            changes.put(Keys.expiry(Header.unpack(header).expiresAt(), Keys.owner(prefix)), new byte[0]);
            return true;
        } catch (RuntimeException e) {
            // it is not as it was written
            return false;
        }
    }

    private void finish() {
        if (whole) {
            try {
                to.write(List.of(changes), changes.bytes());
            } catch (RocksDBException e) {
                throw new IllegalStateException("what was saved cannot be written", e);
            }
            saved.add(Keys.owner(prefix));
        }
        whole = false;
        changes = new Changes();
    }

    /** A place behind damage that can be read, little behind it; empty if there is none. */
    private byte[] behind(byte[] damaged) throws RocksDBException {
        BigInteger bad = Keys.name(damaged);
        BigInteger good = NAMES;
        for (int bits = FIRST_STEP_BITS; bits < Long.SIZE && good.equals(NAMES); bits++) {
            BigInteger next = bad.add(BigInteger.ONE.shiftLeft(bits));
            if (next.compareTo(NAMES) < 0 && isReadable(next)) {
                good = next;
            }
        }
        for (int bits = 1; bits < FIRST_STEP_BITS && good.equals(NAMES); bits++) {
            BigInteger next = NAMES.subtract(NAMES.subtract(bad).shiftRight(bits));
            if (isReadable(next)) {
                good = next;
            }
        }
        if (good.equals(NAMES)) {
            return new byte[0];
        }
        while (good.subtract(bad).bitLength() > FIRST_STEP_BITS) {
            BigInteger middle = good.add(bad).shiftRight(1);
            if (isReadable(middle)) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        return Keys.named(good);
    }

    private boolean isReadable(BigInteger name) throws RocksDBException {
        try {
            from.scan(Keys.named(name), Keys.afterSessions(), (key, value) -> false);
            return true;
        } catch (RocksDBException e) {
            requireDamage(e);
            return false;
        }
    }

    private long lost() throws RocksDBException {
        Set<SessionKey> known = new HashSet<>();
        try {
            from.scan(Keys.expiriesFrom(0), Keys.sessions(), (expiry, nothing) -> {
                known.add(Keys.session(expiry));
                return true;
            });
        } catch (RocksDBException e) {
            requireDamage(e);
        }
        known.removeAll(saved);
        return known.size();
    }
}

package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.OptionalLong;
import java.util.Set;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the database of a folder, and finds out whether everything that was acknowledged is in it.
 *
 * <p>The log is read as far as it is whole. If RocksDB refuses that, it is read as far as it goes; if RocksDB refuses that too, every
 * session that can be read is copied into a fresh database, which then takes the place of the damaged one.
 */
final class DatabaseOpening {
    private static final Logger logger = LoggerFactory.getLogger(DatabaseOpening.class);

    private final StoreFolder folder;
    private final long memoryBytes;
    private final boolean sync;
    private final Path home;
    private final Path draft;
    private final Path old;

    DatabaseOpening(StoreFolder folder, long memoryBytes, boolean sync) {
        this.folder = folder;
        this.memoryBytes = memoryBytes;
        this.sync = sync;
        this.home = folder.database();
        this.draft = home.resolveSibling(home.getFileName() + ".new");
        this.old = home.resolveSibling(home.getFileName() + ".old");
    }

    /** Opens it; {@link OpeningHistory#damage} then tells whether something is missing. */
    Database open() throws RocksDBException {
        finishReplacement();
        try {
            return compared(database(Database.Recovery.STRICT), "");
        } catch (RocksDBException e) {
            if (!Database.isCorrupt(e)) {
                throw e;
            }
            return leniently(e);
        }
    }

    private Database leniently(RocksDBException refused) throws RocksDBException {
        Database database;
        try {
            database = database(Database.Recovery.LENIENT);
        } catch (RocksDBException e) {
            return salvage(refused);
        }
        return compared(database, String.valueOf(refused.getMessage()));
    }

    /**
     * Opens a copy of what can be read of the database, in its place.
     *
     * @param cause what is damaged
     */
    Database salvage(RocksDBException cause) throws RocksDBException {
        logger.warn("the session store in {} is damaged; what can be read is copied", folder.path(), cause);
        long lost;
        try (Database wreck =
                new Database(home, memoryBytes, false, Database.Recovery.SALVAGE, Watermark.ofNothing())) {
            changing(() -> Database.remove(draft));
            try (Database copy =
                    new Database(draft, memoryBytes, sync, Database.Recovery.LENIENT, Watermark.ofNothing())) {
                lost = new Salvage(wreck, copy).run();
            }
        } catch (RocksDBException e) {
            // recovery repeats this with the same cause
            if (cause.getSuppressed().length == 0) {
                cause.addSuppressed(e);
            }
            throw cause;
        }
        damaged(lost + " sessions could not be read, and are lost", " (" + cause.getMessage() + ")");
        changing(() -> {
            Database.remove(old);
            Files.move(home, old, StandardCopyOption.ATOMIC_MOVE);
        });
        finishReplacement();
        Database database = database(Database.Recovery.STRICT);
        folder.watermark().reset(database.sequence());
        return database;
    }

    private Database database(Database.Recovery recovery) throws RocksDBException {
        return new Database(home, memoryBytes, sync, recovery, folder.watermark());
    }

    /** Puts the copy, which is whole once the damaged database is moved away, in its place. A process that died here is made good. */
    private void finishReplacement() {
        changing(() -> {
            if (!Files.exists(home) && Files.exists(draft)) {
                Files.move(draft, home, StandardCopyOption.ATOMIC_MOVE);
            }
            Database.remove(old);
            Database.remove(draft);
        });
    }

    private interface Change {
        void run() throws IOException;
    }

    private void changing(Change change) {
        try {
            change.run();
        } catch (IOException e) {
            throw new RocksDbStoreException(folder.path(), "cannot be changed", e);
        }
    }

    private Database compared(Database database, String refused) {
        try {
            compare(database, refused);
            return database;
        } catch (RuntimeException e) {
            database.close();
            throw e;
        }
    }

    /** Sets the watermark back last: if this process dies before, the next one finds the loss again. */
    private void compare(Database database, String refused) {
        long found = database.sequence();
        OptionalLong last = folder.watermark().last();
        if (last.isPresent() && found < last.getAsLong()) {
            lost((last.getAsLong() - found) + " acknowledged changes are missing at the end of its log", refused);
        } else if (!refused.isEmpty()) {
            lost("its log is not whole", refused);
        } else if (last.isEmpty()
                && (folder.history().watermarked() || !folder.watermark().isBlank())) {
            lost("the file " + Watermark.FILE + " is damaged or gone, so nobody can tell whether its log is whole", "");
        }
        folder.watermark().reset(found);
    }

    private void lost(String what, String refused) {
        String cause = refused.isEmpty() ? "" : " (" + refused + ")";
        if (folder.history().powerLost()) {
            logger.warn("the session store in {}: {}{}, since the machine ended", folder.path(), what, cause);
        } else {
            damaged(what, cause);
        }
    }

    private void damaged(String what, String cause) {
        logger.error(
                "the session store in {} is damaged: {}{}. Each of its sessions will tell its client of a possible gap",
                folder.path(),
                what,
                cause);
        folder.damaged(what);
    }

    /**
     * Copies every session that can be read whole, and makes a new list of expiries. RocksDB itself never gets rid of a damaged block:
     * it takes no more writes once a compaction has met one.
     */
    private static final class Salvage {
        private static final int FIRST_STEP_BITS = 32;
        private static final BigInteger NAMES = BigInteger.ONE.shiftLeft(Long.SIZE);

        private final Database from;
        private final Database to;
        private final Set<SessionKey> saved = new HashSet<>();
        /** The session whose keys come now, what is read of it, and whether all of that could be read. */
        private byte[] prefix = {};

        private Database.Batch session = new Database.Batch();
        private boolean whole;

        private Salvage(Database from, Database to) {
            this.from = from;
            this.to = to;
        }

        /** Returns how many sessions are known to be lost. */
        private long run() throws RocksDBException {
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
                whole = Keys.what(key) == Keys.HEADER && addExpiry(value);
            }
            session.put(key, value);
            return true;
        }

        private boolean addExpiry(byte[] header) {
            try {
                session.put(Keys.expiry(SessionHeader.unpack(header).expiresAt(), Keys.owner(prefix)), new byte[0]);
                return true;
            } catch (RuntimeException e) {
                // it is not as it was written
                return false;
            }
        }

        private void finish() {
            if (whole) {
                try {
                    to.write(session);
                } catch (RocksDBException e) {
                    throw new IllegalStateException("what was saved cannot be written", e);
                }
                saved.add(Keys.owner(prefix));
            }
            whole = false;
            session = new Database.Batch();
        }

        /** A readable place a little behind a damaged one; empty if there is none. */
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
}

package dev.holdfast.rocksdb;

import java.util.OptionalLong;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the database of a folder, and sees whether all that was acknowledged is in it. Its log is read as far as it is whole; a
 * file of it that is missing ends it too. Where RocksDB does not open it so, it gets what there is.
 */
final class DatabaseOpening {
    private static final Logger logger = LoggerFactory.getLogger(DatabaseOpening.class);

    private final StoreFolder folder;
    private final long memoryBytes;
    private final boolean sync;

    DatabaseOpening(StoreFolder folder, long memoryBytes, boolean sync) {
        this.folder = folder;
        this.memoryBytes = memoryBytes;
        this.sync = sync;
    }

    /** Opens it; whether something is missing is told by {@link LossMark#damage} then. */
    Database open() throws RocksDBException {
        folder.files().finishDraft();
        try {
            return compared(database(Database.Log.WHOLE), "");
        } catch (RocksDBException e) {
            if (!Database.isCorrupt(e)) {
                throw e;
            }
            return forgiving(e);
        }
    }

    private Database forgiving(RocksDBException refused) throws RocksDBException {
        Database database;
        try {
            database = database(Database.Log.WHAT_THERE_IS);
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
        logger.warn("the session store in {} is damaged; what can be read is brought over", folder.path(), cause);
        long lost;
        try (Database wreck = new Database(
                folder.files().database(), memoryBytes, false, Database.Log.OF_A_WRECK, Watermark.ofNothing())) {
            folder.files().beginDraft();
            try (Database draft = new Database(
                    folder.files().draft(), memoryBytes, sync, Database.Log.WHAT_THERE_IS, Watermark.ofNothing())) {
                lost = new Salvage(wreck, draft).run();
            }
        } catch (RocksDBException e) {
            // recovery repeats this with the same cause
            if (cause.getSuppressed().length == 0) {
                cause.addSuppressed(e);
            }
            throw cause;
        }
        damaged(lost + " sessions could not be read, and are lost", " (" + cause.getMessage() + ")");
        folder.files().useDraft();
        Database database = database(Database.Log.WHOLE);
        folder.watermark().reset(database.sequence());
        return database;
    }

    private Database database(Database.Log log) throws RocksDBException {
        return new Database(folder.files().database(), memoryBytes, sync, log, folder.watermark());
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

    /** Sets the watermark back last, so that the next process finds the loss again if this one dies before. */
    private void compare(Database database, String refused) {
        long found = database.sequence();
        OptionalLong last = folder.watermark().last();
        if (last.isPresent() && found < last.getAsLong()) {
            lost((last.getAsLong() - found) + " acknowledged changes are missing at the end of its log", refused);
        } else if (!refused.isEmpty()) {
            lost("its log is not whole", refused);
        } else if (last.isEmpty()
                && (folder.lossMark().watermarked() || !folder.watermark().isBlank())) {
            lost("the file " + Watermark.FILE + " is damaged or gone, so nobody can tell whether its log is whole", "");
        }
        folder.watermark().reset(found);
    }

    private void lost(String what, String refused) {
        String cause = refused.isEmpty() ? "" : " (" + refused + ")";
        if (folder.lossMark().powerLost()) {
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
}

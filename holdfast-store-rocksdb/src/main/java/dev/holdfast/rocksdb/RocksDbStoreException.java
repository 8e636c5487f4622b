package dev.holdfast.rocksdb;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The store could not do it; the message names its folder and the cause. */
public final class RocksDbStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean belongsToAnother;

    RocksDbStoreException(Path folder, String what) {
        this(folder, what, false);
    }

    RocksDbStoreException(Path folder, String what, Throwable cause) {
        super("the session store in " + folder + " " + what + ": " + reason(cause), cause);
        this.belongsToAnother = false;
    }

    private RocksDbStoreException(Path folder, String what, boolean belongsToAnother) {
        super("the session store in " + folder + " " + what);
        this.belongsToAnother = belongsToAnother;
    }

    static RocksDbStoreException ofAnother(Path folder, String owner, String comer) {
        String difference = owner.equals(comer) ? " with other arguments" : ", and this is " + comer;
        return new RocksDbStoreException(folder, "keeps the sessions of " + owner + difference, true);
    }

    /** Whether the folder keeps the sessions of another, from whom {@link RocksDbStoreBuilder#takeOver} would take it. */
    public boolean belongsToAnother() {
        return belongsToAnother;
    }

    /** What Java says of a file is often no more than its name. */
    private static String reason(Throwable cause) {
        if (cause instanceof AccessDeniedException denied) {
            return denied.getFile() + ": permission denied";
        }
        if (cause instanceof FileAlreadyExistsException taken) {
            return taken.getFile() + " is not a folder";
        }
        if (cause instanceof NoSuchFileException missing) {
            return missing.getFile() + ": no such folder";
        }
        return String.valueOf(cause.getMessage());
    }
}

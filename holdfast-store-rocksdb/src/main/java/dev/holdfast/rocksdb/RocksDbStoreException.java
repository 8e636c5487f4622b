package dev.holdfast.rocksdb;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The store could not do it; the message names its folder and the cause. */
public final class RocksDbStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RocksDbStoreException(Path folder, String what) {
        super("the session store in " + folder + " " + what);
    }

    RocksDbStoreException(Path folder, String what, Throwable cause) {
        super("the session store in " + folder + " " + what + ": " + reason(cause), cause);
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

package dev.holdfast.rocksdb;

import java.nio.file.Path;

/** The store could not do it; the message names its folder and the cause. */
public final class RocksDbStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RocksDbStoreException(Path folder, String what) {
        super("the session store in " + folder + " " + what);
    }

    RocksDbStoreException(Path folder, String what, Throwable cause) {
        super("the session store in " + folder + " " + what + ": " + cause.getMessage(), cause);
    }
}

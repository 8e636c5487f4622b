package dev.holdfast.rocksdb;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The store could not do it; the message names its folder and the cause. */
public final class RocksDbStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private enum Fault {
        FOLDER,
        OWNER,
        MACHINE
    }

    private final Fault fault;

    RocksDbStoreException(Path folder, String what) {
        this(folder, what, null, Fault.FOLDER);
    }

    RocksDbStoreException(Path folder, String what, Throwable cause) {
        this(folder, what + ": " + reason(cause), cause, Fault.FOLDER);
    }

    private RocksDbStoreException(Path folder, String what, @Nullable Throwable cause, Fault fault) {
        super("the session store in " + folder + " " + what, cause);
        this.fault = fault;
    }

    static RocksDbStoreException withoutLibrary(Path folder, Throwable cause) {
        return new RocksDbStoreException(
                folder,
                "cannot be opened, since RocksDB's native library cannot be loaded from the folder for temporary files, "
                        + System.getProperty("java.io.tmpdir")
                        + ", which must exist, have 20 MB of room and not be mounted noexec (name another by"
                        + " -Djava.io.tmpdir=DIR, which may stand in JDK_JAVA_OPTIONS): "
                        + reason(cause),
                cause,
                Fault.MACHINE);
    }

    static RocksDbStoreException ofAnother(Path folder, String owner, String comer) {
        String difference = owner.equals(comer) ? " with other arguments" : ", and this is " + comer;
        return new RocksDbStoreException(folder, "keeps the sessions of " + owner + difference, null, Fault.OWNER);
    }

    /** Whether the folder keeps the sessions of another, from whom {@link RocksDbStoreBuilder#takeOver} would take it. */
    public boolean belongsToAnother() {
        return fault == Fault.OWNER;
    }

    /** Whether this machine cannot open any store: another folder would not help. */
    public boolean concernsMachine() {
        return fault == Fault.MACHINE;
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

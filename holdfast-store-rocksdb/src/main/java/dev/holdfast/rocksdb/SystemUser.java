package dev.holdfast.rocksdb;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Who this process runs as, by the operating system's number. */
final class SystemUser {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Pattern EFFECTIVE = Pattern.compile("(?m)^Uid:\\s+\\d+\\s+(\\d+)\\s");
    private static final int ROOT = 0;

    private SystemUser() {}

    /** Empty where the system does not tell. */
    static OptionalInt ofThisProcess() {
        try {
            Matcher uid = EFFECTIVE.matcher(Files.readString(STATUS));
            return uid.find() ? OptionalInt.of(Integer.parseUnsignedInt(uid.group(1))) : OptionalInt.empty();
        } catch (IOException e) {
            return OptionalInt.empty();
        }
    }

    /**
     * Refuses a folder that another user has made: who owns it reads what comes into it, and chooses by links where that goes.
     *
     * @param user who wants to use it; root may own it too
     */
    static void refuseOthers(Path folder, int user) throws IOException {
        int owner = (int) Files.getAttribute(folder, "unix:uid");
        if (owner != user && owner != ROOT) {
            throw new RocksDbStoreException(
                    folder,
                    "belongs to the user " + Files.getOwner(folder).getName() + ", and this process runs as "
                            + Integer.toUnsignedString(user)
                            + ": change its owner, or take a folder in it, which is made");
        }
    }
}

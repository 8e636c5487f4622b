package dev.holdfast.gateway;

import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.Option;

/** The options of {@code holdfast serve} that say where sessions are kept. */
final class StoreFlags {
    private static final String MEMORY = "memory";
    private static final String ROCKSDB = "rocksdb:";

    @Option(
            names = "--store",
            paramLabel = "STORE",
            defaultValue = "rocksdb:./holdfast-data",
            description = {
                "where sessions are kept: rocksdb:DIR is a folder that one gateway at a time has open, memory ends with"
                        + " the process",
                "(default: ${DEFAULT-VALUE})"
            })
    private String store = "";

    @Option(
            names = "--store-sync",
            description = "what is kept on disk survives a power loss too; each message waits for the disk")
    private boolean sync;

    @Option(
            names = "--take-over-store",
            description = "serve the sessions in the folder of --store though another COMMAND, or one with other"
                    + " arguments, has kept them there")
    private boolean takeOver;

    @Option(
            names = "--park-after",
            paramLabel = "TIME",
            defaultValue = "10m",
            converter = ServeFlags.Time.class,
            description =
                    "when a session whose connection broke leaves memory, and its process of COMMAND ends; another"
                            + " is started when its client comes back (default: ${DEFAULT-VALUE})")
    private Duration parkAfter = Duration.ZERO;

    /**
     * When a session is parked.
     *
     * @throws IllegalArgumentException if that is out of its range
     */
    Duration parkAfter() {
        return ServeFlags.range("--park-after", parkAfter, Duration.ofSeconds(10), ServeFlags.YEAR);
    }

    /**
     * What they say, checked.
     *
     * @throws IllegalArgumentException names what is wrong
     */
    StoreChoice choice() {
        if (store.equals(MEMORY)) {
            if (sync) {
                throw new IllegalArgumentException("--store-sync needs a store on disk, and --store is memory");
            }
            if (takeOver) {
                throw new IllegalArgumentException("--take-over-store needs a store on disk, and --store is memory");
            }
            return new StoreChoice.Memory();
        }
        String folder = store.startsWith(ROCKSDB) ? store.substring(ROCKSDB.length()) : "";
        if (folder.isBlank()) {
            throw new IllegalArgumentException("--store must be memory or rocksdb:DIR, not " + store);
        }
        return new StoreChoice.RocksDb(path(folder), sync ? Durability.POWER_LOSS : Durability.PROCESS_DEATH, takeOver);
    }

    private static Path path(String folder) {
        try {
            return Path.of(folder);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("--store names no folder: " + e.getMessage(), e);
        }
    }
}

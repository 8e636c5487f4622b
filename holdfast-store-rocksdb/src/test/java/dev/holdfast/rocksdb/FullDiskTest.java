package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.StreamId;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk that is full makes appends fail and nothing else, and once there is room again the store goes on by itself. */
@Tag("jdk")
class FullDiskTest {
    /** Mounts a small disk where that is allowed, else lets no file grow: a write fails halfway through either way. */
    private static final String SMALL_DISK = """
            folder="$1"; shift
            if [ "$HOLDFAST_MOUNT" = yes ]; then mount -t tmpfs -o size=60m tmpfs "$folder" || exit 70
            else ulimit -S -f 40000; fi
            exec "$@"
            """;

    @TempDir
    Path temporary;

    @Test
    void aFullDiskFailsAppendsAndIsRecoveredFrom() throws Exception {
        Path script = Files.writeString(temporary.resolve("small-disk.sh"), SMALL_DISK);
        Path disk = Files.createDirectory(temporary.resolve("disk"));
        List<String> child = new ArrayList<>(List.of("sh", script.toString(), disk.toString()));
        child.addAll(ChildJvm.command(Filler.class, disk.toString()));
        for (List<String> mounting : List.of(List.of("unshare", "-m"), List.of("unshare", "-r", "-m"))) {
            List<String> probe = new ArrayList<>(mounting);
            probe.addAll(List.of("mount", "-t", "tmpfs", "tmpfs", disk.toString()));
            if (run(probe, "").endsWith("exit 0")) {
                List<String> whole = new ArrayList<>(mounting);
                whole.addAll(child);
                assertThat(run(whole, "yes")).endsWith("all is well\nexit 0");
                return;
            }
        }
        assertThat(run(child, "no")).endsWith("all is well\nexit 0");
    }

    private static String run(List<String> command, String mount) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("HOLDFAST_MOUNT", mount);
        Process process;
        try {
            process = ChildJvm.start(builder);
        } catch (java.io.IOException e) {
            return "no such command";
        }
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return said + "exit " + process.waitFor();
    }

    /** Fills the disk with a ballast, appends until that fails, throws the ballast away, and appends on. */
    static final class Filler {
        private static final int BYTES = 4000;
        private static final int MANY = 20_000;

        private Filler() {}

        public static void main(String[] args) throws Exception {
            Path disk = Path.of(args[0]);
            List<Path> ballast = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                ballast.add(Files.write(disk.resolve("ballast-" + i), new byte[4 << 20]));
            }
            try (RocksDbStore store = RocksDbStore.builder(disk.resolve("store"))
                    .memory(256 << 20)
                    .open()) {
                Sample.await(Sample.create(store, Sample.KEY));
                long kept = appendUntilItFails(store);
                check(store.usage().trouble().isPresent(), "the trouble is not told");
                check(failure(store, kept + 1).contains("the session store in " + disk), "the folder is not named");
                check(count(store) == kept, "what was acknowledged cannot be read while the disk is full");
                for (Path heavy : ballast) {
                    Files.delete(heavy);
                }
                long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
                // appends that failed are not there, or are as a whole: the next offset follows from the log
                while (!failure(store, lastOf(store) + 1).isEmpty()) {
                    check(System.nanoTime() < deadline, "no recovery");
                    LockSupport.parkNanos(Sample.PAUSE_NANOS);
                }
                check(count(store) >= kept + 1, "something acknowledged is lost");
                check(store.usage().trouble().isEmpty(), "trouble is told that is over");
            }
            System.out.println("all is well");
        }

        private static void check(boolean holds, String otherwise) {
            if (!holds) {
                throw new AssertionError(otherwise);
            }
        }

        private static long appendUntilItFails(RocksDbStore store) throws Exception {
            for (long offset = 1; offset < MANY; offset++) {
                if (!failure(store, offset).isEmpty()) {
                    return offset - 1;
                }
            }
            throw new AssertionError("the disk does not fill up");
        }

        private static String failure(RocksDbStore store, long offset) throws Exception {
            return Sample.await(Sample.append(store, Sample.KEY, offset, BYTES)
                    .handle((done, failed) -> failed == null ? "" : String.valueOf(failed.getMessage())));
        }

        private static long count(RocksDbStore store) throws Exception {
            return Sample.await(store.read(Sample.KEY, StreamId.LISTENING, 0, Integer.MAX_VALUE))
                    .size();
        }

        private static long lastOf(RocksDbStore store) throws Exception {
            try {
                return count(store);
            } catch (java.util.concurrent.ExecutionException whileItIsOpenedAnew) {
                return MANY;
            }
        }
    }
}

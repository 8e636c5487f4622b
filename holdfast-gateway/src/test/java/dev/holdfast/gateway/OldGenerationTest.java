package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The collector that the launcher chooses does not let garbage take a quarter of the machine, whatever the release of Java. */
@Tag("jdk")
@Timeout(120)
class OldGenerationTest {
    private static final long MEBIBYTE = 1 << 20;
    private static final long MOST = 512 * MEBIBYTE;

    /** Objects that live long enough to become old, and no longer; prints how large the old generation was. */
    static final class Load {
        private static final int OBJECT_BYTES = 1024;
        private static final long ALLOCATED = 4096 * MEBIBYTE;
        private static final int KEPT = 24 * 1024;

        private Load() {}

        public static void main(String[] args) {
            OldGeneration.watch();
            Queue<byte[]> kept = new ArrayDeque<>();
            for (long allocated = 0; allocated < ALLOCATED; allocated += OBJECT_BYTES) {
                kept.add(new byte[OBJECT_BYTES]);
                if (kept.size() > KEPT) {
                    kept.remove();
                }
            }
            long most = ManagementFactory.getMemoryPoolMXBeans().stream()
                    .filter(pool -> pool.getName().equals("Tenured Gen"))
                    .findFirst()
                    .orElseThrow()
                    .getPeakUsage()
                    .getUsed();
            System.out.print(most);
        }
    }

    @TempDir
    Path folder;

    @Test
    void garbageThatHasBecomeOldIsCollected() throws Exception {
        Path out = folder.resolve("out");
        Process load = GatewayProcess.started(new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xms16m",
                        "-Xmx2g",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Load.class.getName()))
                .redirectOutput(out.toFile()));
        try {
            assertThat(load.waitFor(100, TimeUnit.SECONDS)).isTrue();
            assertThat(load.exitValue()).isZero();
            // the JVM may have something to say before
            List<String> lines = Files.readAllLines(out);
            assertThat(Long.parseLong(lines.get(lines.size() - 1))).isLessThan(MOST);
        } finally {
            load.destroyForcibly();
        }
    }
}

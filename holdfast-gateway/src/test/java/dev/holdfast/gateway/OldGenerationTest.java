package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The collector that the launcher chooses does not let garbage take a quarter of the machine, whatever the release of Java. */
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

    @Test
    void garbageThatHasBecomeOldIsCollected() throws Exception {
        Process load = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xms16m",
                        "-Xmx2g",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Load.class.getName()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            String most = new String(load.getInputStream().readAllBytes(), UTF_8);
            assertThat(load.waitFor()).isZero();
            assertThat(Long.parseLong(most)).isLessThan(MOST);
        } finally {
            load.destroyForcibly();
        }
    }
}

package dev.holdfast.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Where something was measured.
 *
 * @param processors how many
 * @param processor their name, where Linux tells it
 * @param system the operating system
 * @param java the virtual machine
 * @param time when
 */
public record Machine(int processors, String processor, String system, String java, String time) {
    /** This one, now. */
    public static Machine here() throws IOException {
        return new Machine(
                Runtime.getRuntime().availableProcessors(),
                processorName(),
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"),
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    }

    private static String processorName() throws IOException {
        Path file = Path.of("/proc/cpuinfo");
        if (!Files.exists(file)) {
            return "";
        }
        try (var lines = Files.lines(file)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .findFirst()
                    .orElse("");
        }
    }
}

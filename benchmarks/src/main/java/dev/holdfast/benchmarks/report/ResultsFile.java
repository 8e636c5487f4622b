package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.result.ScenarioResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Every sample of every round, as JSON. */
public final class ResultsFile {
    private static final JsonMapper JSON =
            JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private final Path file;

    /** Results that are kept in this file. */
    public ResultsFile(Path file) {
        this.file = file;
    }

    /** Writes all, over what was there. */
    public void write(List<ScenarioResult> outcomes) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(file, JSON.writeValueAsBytes(new Content(Machine.here(), outcomes)));
    }

    /** A file beside it, of the same name but for its end. */
    public Path beside(String end) {
        String name = file.getFileName().toString().replaceFirst("\\.json$", "");
        return file.resolveSibling(name + end);
    }

    /** What stands in the file. */
    private record Content(Machine machine, List<ScenarioResult> outcomes) {}
}

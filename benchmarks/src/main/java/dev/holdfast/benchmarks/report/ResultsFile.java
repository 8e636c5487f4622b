package dev.holdfast.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
    public void write(Results results) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(file, JSON.writeValueAsBytes(results));
    }

    public Results read() throws IOException {
        return JSON.readValue(Files.readAllBytes(file), Results.class);
    }

    /** A file beside it, of the same name but for its end. */
    public Path beside(String end) {
        String name = file.getFileName().toString().replaceFirst("\\.json$", "");
        return file.resolveSibling(name + end);
    }
}

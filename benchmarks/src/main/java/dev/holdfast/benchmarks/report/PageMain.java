package dev.holdfast.benchmarks.report;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Prints the page of {@code results.json} in a folder, and writes it and its charts there. Argument: the folder. */
final class PageMain {
    private PageMain() {}

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        Map<String, String> files = FiguresPage.of(new ResultsFile(folder.resolve("results.json")).read());
        for (Map.Entry<String, String> file : files.entrySet()) {
            Files.writeString(folder.resolve(file.getKey()), file.getValue());
        }
        System.out.print(files.get("README.md"));
    }
}

package dev.holdfast.gateway.process;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What starts an MCP server on stdio.
 *
 * @param words the program and its arguments, at least one word
 */
public record ServerCommand(List<String> words) {
    public ServerCommand {
        words = List.copyOf(words);
        if (words.isEmpty()) {
            throw new IllegalArgumentException("a command needs at least one word");
        }
    }

    /** The program as it was named. */
    public String program() {
        return words.get(0);
    }

    /** The program without its folder and its arguments, which may hold secrets. */
    public String shortName() {
        Path file = Path.of(program()).getFileName();
        return file == null ? program() : file.toString();
    }

    /** The file that is executed, if there is one: the named one, or the first of that name on the PATH. */
    public Optional<Path> executable() {
        return find(program());
    }

    /** Why there is no {@link #executable}, as the predicate of a sentence about the command. */
    public String fault() {
        Path named = Path.of(program());
        if (!isPath(program()) || !Files.exists(named)) {
            return "was not found";
        }
        return Files.isDirectory(named) ? "is a folder" : "is not executable";
    }

    private static boolean isPath(String program) {
        return program.indexOf(File.separatorChar) >= 0;
    }

    /** Finds a program as the shell would. */
    public static Optional<Path> find(String program) {
        if (isPath(program)) {
            return Optional.of(Path.of(program)).filter(ServerCommand::runs);
        }
        String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
        return Pattern.compile(File.pathSeparator, Pattern.LITERAL)
                .splitAsStream(path)
                .map(folder -> Path.of(folder, program))
                .filter(ServerCommand::runs)
                .findFirst();
    }

    private static boolean runs(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }
}

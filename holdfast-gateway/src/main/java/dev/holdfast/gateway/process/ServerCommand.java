package dev.holdfast.gateway.process;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What starts an MCP server on stdio.
 *
 * @param words the program and its arguments, at least one word
 * @param variables of its environment, beside those that any process needs; where there are none it has those of this process
 * @param folder where it runs, unless that is where this process does
 */
public record ServerCommand(List<String> words, Optional<Map<String, String>> variables, Optional<Path> folder) {
    private static final String PATH = "PATH";
    /** What clients on stdio leave to their servers of their own environment. */
    private static final Pattern NEEDED = Pattern.compile("PATH|HOME|LOGNAME|USER|SHELL|TERM|LANG|LC_[A-Z]+|TMPDIR|TZ");

    public ServerCommand {
        words = List.copyOf(words);
        variables = variables.map(Map::copyOf);
        if (words.isEmpty()) {
            throw new IllegalArgumentException("a command needs at least one word");
        }
    }

    /** One that runs where this process does, in the same environment. */
    public ServerCommand(List<String> words) {
        this(words, Optional.empty(), Optional.empty());
    }

    /**
     * What starts it.
     *
     * @param before words that stand before its own
     */
    ProcessBuilder process(List<String> before) {
        List<String> all = new ArrayList<>(before);
        all.addAll(words);
        ProcessBuilder builder = new ProcessBuilder(all);
        variables.ifPresent(own -> {
            // what else there is may be the secret of another server
            builder.environment()
                    .keySet()
                    .removeIf(name -> !NEEDED.matcher(name).matches());
            builder.environment().putAll(own);
        });
        folder.ifPresent(path -> builder.directory(path.toFile()));
        return builder;
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
        return folder.filter(path -> !Files.isDirectory(path)).isPresent()
                ? Optional.empty()
                : find(isPath(program()) ? named().toString() : program(), variables.map(own -> own.get(PATH)));
    }

    private Path named() {
        return folder.orElse(Path.of("")).resolve(program());
    }

    /** Why there is no {@link #executable}, as the predicate of a sentence about the command. */
    public String fault() {
        Path named = named();
        if (folder.filter(path -> !Files.isDirectory(path)).isPresent()) {
            return "has no folder " + folder.get() + " to run in";
        }
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
        return find(program, Optional.empty());
    }

    private static Optional<Path> find(String program, Optional<String> folders) {
        if (isPath(program)) {
            return Optional.of(Path.of(program)).filter(ServerCommand::runs);
        }
        String path = folders.or(() -> Optional.ofNullable(System.getenv(PATH))).orElse("");
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

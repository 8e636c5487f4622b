package dev.holdfast.gateway;

import dev.holdfast.gateway.text.GatewayException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line. */
@Command(
        name = "holdfast",
        mixinStandardHelpOptions = true,
        versionProvider = Main.Version.class,
        customSynopsis = {
            "holdfast serve [OPTIONS] [--upstream URL | -- COMMAND ARGS...]",
            "       holdfast connect [OPTIONS] URL"
        },
        description = "MCP sessions that outlive their connection.")
public final class Main implements Runnable {
    private static final int FAILED = 1;
    private static final int MISUSED = 2;
    static final String END_OF_OPTIONS = "--";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Runs until told to end; exits with 2 for a wrong command line and with 1 for any other failure. */
    public static void main(String[] args) {
        OldGeneration.watch();
        int code = execute(commandLine(args), args);
        if (code != 0) {
            System.exit(code);
        }
    }

    /** The parser for these arguments. What stands behind the first {@code --} is the server's command and none of its business. */
    static CommandLine commandLine(String... args) {
        List<String> all = Arrays.asList(args);
        int end = all.indexOf(END_OF_OPTIONS);
        Optional<List<String>> words = end < 0 ? Optional.empty() : Optional.of(all.subList(end + 1, all.size()));
        CommandLine line = new CommandLine(new Main())
                .addSubcommand(new ServeCommand(words))
                .addSubcommand(new ConnectCommand())
                .addSubcommand(new CommandLine.HelpCommand());
        line.setParameterExceptionHandler((wrong, given) -> fail(line, text(wrong), MISUSED));
        line.setExecutionExceptionHandler((failure, command, result) -> {
            if (failure instanceof GatewayException) {
                return fail(line, String.valueOf(failure.getMessage()), FAILED);
            }
            throw failure;
        });
        return line;
    }

    /** Does what these arguments ask for; returns the exit code. */
    static int execute(CommandLine line, String... args) {
        Optional<UnreadableWord> unreadable = UnreadableWord.in(args);
        return unreadable.isPresent() ? fail(line, unreadable.get().text(), MISUSED) : line.execute(own(args));
    }

    /** The arguments that are ours. */
    private static String[] own(String... args) {
        return Arrays.stream(args).takeWhile(arg -> !arg.equals(END_OF_OPTIONS)).toArray(String[]::new);
    }

    private static String text(ParameterException wrong) {
        if (wrong instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()) {
            String first = unmatched.getUnmatched().get(0);
            boolean connect = wrong.getCommandLine().getCommandName().equals("connect");
            String usage = connect ? "connect [OPTIONS] URL" : "serve [OPTIONS] [-- COMMAND ARGS...]";
            return "unknown argument '" + first + "'; usage: holdfast " + usage;
        }
        return String.valueOf(wrong.getMessage());
    }

    private static int fail(CommandLine line, String message, int code) {
        line.getErr().println("holdfast: " + message.lines().findFirst().orElse("failed"));
        return code;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "nothing to do; try 'holdfast serve' or 'holdfast --help'");
    }

    /** The version of the build. */
    static final class Version implements IVersionProvider {
        static String text() {
            return Optional.ofNullable(Main.class.getPackage().getImplementationVersion())
                    .orElse("unpackaged");
        }

        @Override
        public String[] getVersion() {
            return new String[] {"holdfast " + text()};
        }
    }
}

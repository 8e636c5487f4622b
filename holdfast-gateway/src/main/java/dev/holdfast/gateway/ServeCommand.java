package dev.holdfast.gateway;

import dev.holdfast.gateway.process.ServerCommand;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code holdfast serve}: checks what is asked for, runs the gateway, and ends with it. */
@Command(
        name = "serve",
        mixinStandardHelpOptions = true,
        versionProvider = Main.Version.class,
        sortOptions = false,
        customSynopsis = "holdfast serve [OPTIONS] [--upstream URL | -- COMMAND ARGS...]",
        description = {
            "Serves the MCP server that COMMAND starts, with a process of its own for each session, or the one behind a URL by"
                    + " --upstream. Without either: a demo.",
            "A TIME is a number with a unit, such as 500ms, 15s, 30m or 2h, or 0."
        })
final class ServeCommand implements Runnable {
    private final Optional<List<String>> words;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private ServeFlags flags = new ServeFlags();

    @Mixin
    private ParentWatch parent = new ParentWatch();

    /**
     * The command.
     *
     * @param words what stands behind {@code --}, if that is there
     */
    ServeCommand(Optional<List<String>> words) {
        this.words = words;
    }

    @Override
    public void run() {
        ServeOptions options = options();
        flags.log();
        Gateway gateway = Gateway.start(options);
        Shutdown.onSignal(gateway, options.drainTimeout());
        parent.begin();
        // after the hook: a reader of this line may send SIGTERM at once
        PrintWriter out = spec.commandLine().getOut();
        out.println("holdfast " + Main.Version.text() + " listens on " + gateway.url());
        out.flush();
        gateway.join();
    }

    /** The options of the command line, checked. */
    private ServeOptions options() {
        if (words.filter(List::isEmpty).isPresent()) {
            throw new ParameterException(spec.commandLine(), "no command behind --");
        }
        try {
            return flags.options(words.map(ServerCommand::new));
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
        }
    }
}

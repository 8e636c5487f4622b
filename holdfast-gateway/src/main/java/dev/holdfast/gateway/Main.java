package dev.holdfast.gateway;

import dev.holdfast.gateway.text.GatewayException;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The command line. */
public final class Main {
    private static final Logger log = LoggerFactory.getLogger(Main.class);
    private static final int FAILED = 1;
    private static final int MISUSED = 2;
    private static final int WIDTH = 100;
    private static final String END_OF_OPTIONS = "--";
    private static final String REPLACEMENT = "\uFFFD";
    private static final String UTF_8 = "UTF-8";

    private final PrintWriter out;
    private final PrintWriter err;
    private final ParentWatch parent = new ParentWatch();

    /**
     * A command.
     *
     * @param usage how it is written
     * @param description what it does
     * @param table its options
     */
    private record Command(String usage, String description, List<Knob<?>> table) {
        private static final Command SERVE = new Command(
                "holdfast serve [OPTIONS] [--upstream URL | --config FILE | -- COMMAND ARGS...]",
                "Serves the MCP server that COMMAND starts, with a process of its own for each session, or the one behind"
                        + " a URL by --upstream, or many by --config. Without any: a demo. A TIME is a number with a unit, such as 500ms,"
                        + " 15s, 30m or 2h, or 0.",
                Knobs.SERVE);
        private static final Command CONNECT = new Command(
                "holdfast connect [OPTIONS] URL",
                "Is an MCP server on standard input and output that passes everything on to the one at URL, over"
                        + " Streamable HTTP or HTTP+SSE, and comes back when the connection breaks. The log goes to"
                        + " standard error.",
                Knobs.CONNECT);

        private static final Command DOCTOR = new Command(
                "holdfast doctor [OPTIONS] URL",
                "Measures what lies between here and the MCP server at URL, and what that server does when a connection"
                        + " breaks, and says what to do. Its exit status is 0 where all is well, 1 where there is a problem,"
                        + " and 2 where something could not be measured. It tells its progress on standard error.",
                Knobs.DOCTOR);

        private static Optional<Command> named(String word) {
            return Stream.of(SERVE, CONNECT, DOCTOR)
                    .filter(each -> each.usage.startsWith("holdfast " + word + " "))
                    .findFirst();
        }
    }

    private Main(PrintWriter out, PrintWriter err) {
        this.out = out;
        this.err = err;
    }

    /** Runs until told to end; exits with 2 for a wrong command line and with 1 for any other failure. */
    public static void main(String[] args) {
        OldGeneration.watch();
        Charset charset = Charset.defaultCharset();
        int code = FAILED;
        try {
            code = run(new PrintWriter(System.out, true, charset), new PrintWriter(System.err, true, charset), args);
        } catch (Throwable e) {
            log.error("holdfast ends, for it has failed in a way that nobody expected", e);
        }
        if (code != 0) {
            System.exit(code);
        }
    }

    /** Does what the arguments ask for; returns the exit code. */
    static int run(PrintWriter out, PrintWriter err, String... args) {
        try {
            requireReadable(args);
            return new Main(out, err).task(args).getAsInt();
        } catch (WrongUseException e) {
            return fail(err, e, MISUSED);
        } catch (GatewayException e) {
            return fail(err, e, FAILED);
        }
    }

    private static int fail(PrintWriter err, RuntimeException failure, int code) {
        String message = String.valueOf(failure.getMessage());
        err.println("holdfast: " + message.lines().findFirst().orElse("failed"));
        return code;
    }

    /** The command line is wrong. */
    private static final class WrongUseException extends RuntimeException {
        private WrongUseException(String message) {
            super(message);
        }

        private WrongUseException(IllegalArgumentException cause) {
            super(cause.getMessage(), cause);
        }
    }

    /**
     * Refuses a word that is not in the encoding of the locale. The JVM has put replacement characters into it, or they stood there before:
     * a path would be another one, and a child would get question marks. The word itself is not told, since it may be a secret.
     */
    private static void requireReadable(String... args) {
        int end = Arrays.asList(args).indexOf(END_OF_OPTIONS);
        for (int i = 0; i < args.length; i++) {
            if (args[i].contains(REPLACEMENT)) {
                String option = args[i].startsWith("--") || i == 0 ? args[i] : args[i - 1];
                String name = option.replaceFirst("=.*", "");
                boolean named = name.startsWith("--") && !name.contains(REPLACEMENT);
                String where = named ? name : "argument " + (i + 1);
                String encoding = System.getProperty("sun.jnu.encoding", "unknown");
                String help = encoding.equals(UTF_8) ? "" : "; use a locale with UTF-8, as by LC_ALL=C.UTF-8";
                throw new WrongUseException((end >= 0 && i > end ? "word " + (i - end) + " of the command" : where)
                        + " is not in the encoding of the locale (" + encoding
                        + "), or has U+FFFD for a lost character" + help);
            }
        }
    }

    /** What to do. What stands behind the first {@code --} is no option: for {@code serve} it is the server's command. */
    private IntSupplier task(String... args) {
        List<String> all = Arrays.asList(args);
        int end = all.indexOf(END_OF_OPTIONS);
        List<String> own = end < 0 ? all : all.subList(0, end);
        if (own.isEmpty()) {
            throw new WrongUseException("nothing to do; try 'holdfast serve' or 'holdfast --help'");
        }
        String first = own.get(0);
        boolean help = first.equals("help");
        Optional<Command> command = Command.named(help && own.size() > 1 ? own.get(1) : first);
        if (help || own.contains("--help") || own.contains("-h")) {
            return done(() -> help(command));
        }
        if (own.contains("--version") || own.contains("-V")) {
            return done(() -> out.println("holdfast " + version()));
        }
        if (command.isEmpty()) {
            throw new WrongUseException(
                    first.startsWith("-")
                            ? "unknown option " + first
                            : "unknown argument '" + first + "'; usage: " + Command.SERVE.usage);
        }
        Optional<List<String>> words = end < 0 ? Optional.empty() : Optional.of(all.subList(end + 1, all.size()));
        try {
            return task(command.get(), own.subList(1, own.size()), words);
        } catch (IllegalArgumentException e) {
            throw new WrongUseException(e);
        }
    }

    private IntSupplier task(Command command, List<String> own, Optional<List<String>> server) {
        KnobValues settings = KnobValues.of(command.table, own);
        List<String> others = new ArrayList<>(settings.others());
        if (command.equals(Command.SERVE)) {
            requireNone(others, command);
            ServeOptions options = ServeOptions.of(settings, server);
            return done(() -> serve(options));
        }
        others.addAll(server.orElse(List.of()));
        if (others.isEmpty()) {
            throw new IllegalArgumentException("the URL is missing; usage: " + command.usage);
        }
        String url = others.remove(0);
        requireNone(others, command);
        return command.equals(Command.DOCTOR)
                ? new DoctorCommand(url, settings, out, err)
                : done(new ConnectCommand(url, settings, parent));
    }

    /** What ends well when it ends. */
    private static IntSupplier done(Runnable task) {
        return () -> {
            task.run();
            return 0;
        };
    }

    private static void requireNone(List<String> words, Command command) {
        if (!words.isEmpty()) {
            throw new IllegalArgumentException("unknown argument '" + words.get(0) + "'; usage: " + command.usage);
        }
    }

    private void serve(ServeOptions options) {
        Logging.level(options.get(Knobs.LOG_LEVEL));
        options.settings().find(Knobs.ACCESS_LOG).ifPresent(Logging::access);
        Gateway gateway = Gateway.start(options);
        gateway.heedSignals();
        parent.begin(options.settings());
        // after the hook: a reader of this line may send SIGTERM at once
        out.println("holdfast " + version() + " listens on " + gateway.url());
        out.flush();
        gateway.join();
    }

    private static String version() {
        return Optional.ofNullable(Main.class.getPackage().getImplementationVersion())
                .orElse("unpackaged");
    }

    private void help(Optional<Command> command) {
        if (command.isEmpty()) {
            out.println("MCP sessions that outlive their connection. Usage:");
            out.println("  " + Command.SERVE.usage);
            out.println("  " + Command.CONNECT.usage);
            out.println("  " + Command.DOCTOR.usage);
            out.println("  holdfast help serve | help connect | help doctor | --version");
            return;
        }
        out.println("Usage: " + command.get().usage);
        print("", command.get().description);
        for (Knob<?> knob : command.get().table) {
            out.println("  " + knob.name() + (knob.label().isEmpty() ? "" : "=" + knob.label()));
            print("      ", knob.help());
        }
    }

    /** Prints a text in lines of a limited width. */
    private void print(String indent, String text) {
        StringBuilder line = new StringBuilder(indent);
        for (String word : text.split(" ", -1)) {
            if (line.length() + word.length() > WIDTH) {
                out.println(line.toString().stripTrailing());
                line.setLength(indent.length());
            }
            line.append(word).append(' ');
        }
        out.println(line.toString().stripTrailing());
    }
}

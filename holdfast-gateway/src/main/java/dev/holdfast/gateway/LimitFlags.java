package dev.holdfast.gateway;

import dev.holdfast.NodeLimits;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of {@code holdfast serve} that say how much it takes. */
final class LimitFlags {
    private static final int MOST = 10_000_000;
    private static final int LARGEST = 1 << 30;
    private static final String DEFAULT = " (default: ${DEFAULT-VALUE})";

    @Option(
            names = "--max-sessions",
            paramLabel = "N",
            defaultValue = "10000",
            description = "sessions at once; beyond, those that nobody uses make room" + DEFAULT)
    private int sessions;

    @Option(
            names = "--max-principal-sessions",
            paramLabel = "N",
            defaultValue = "1000",
            description =
                    "the same for each principal of --auth-token-file, on all nodes that share the store" + DEFAULT)
    private int principalSessions;

    @Option(
            names = "--principal-share",
            paramLabel = "PERCENT",
            defaultValue = "50",
            description =
                    "how much of the calls, connections, COMMAND's processes, history and memory for requests one principal of"
                            + " --auth-token-file may have; 100 where there is only one" + DEFAULT)
    private int principalShare;

    @Option(
            names = "--max-calls",
            paramLabel = "N",
            defaultValue = "10000",
            description = "calls that run at once" + DEFAULT)
    private int calls;

    @Option(
            names = "--max-children",
            paramLabel = "N",
            description =
                    "processes of COMMAND at once; beyond, that of a session which nobody uses ends, and is started"
                            + " again when the session is used (default: one for each 128 MB of memory, at least 16)")
    private Optional<Integer> children = Optional.empty();

    @Option(
            names = "--max-call-duration",
            paramLabel = "TIME",
            defaultValue = "1h",
            converter = ServeFlags.Time.class,
            description =
                    "how long a call may run; then its client gets an error, and COMMAND is told to stop" + DEFAULT)
    private Duration callDuration = Duration.ZERO;

    @Option(
            names = "--max-request-size",
            paramLabel = "SIZE",
            defaultValue = "4m",
            converter = Size.class,
            description = "size of a request body" + DEFAULT)
    private long requestSize;

    /**
     * What they say, checked.
     *
     * @throws IllegalArgumentException names the first that is out of its range
     */
    Limits limits() {
        NodeLimits node = NodeLimits.DEFAULT
                .withSessions(range("--max-sessions", sessions))
                .withPrincipalSessions(range("--max-principal-sessions", principalSessions))
                .withRunningCalls(range("--max-calls", calls))
                .withPrincipalShare(range("--principal-share", principalShare, 100));
        if (requestSize < 1 || requestSize > LARGEST) {
            throw new IllegalArgumentException("--max-request-size must be 1 to 1g");
        }
        Duration longest = ServeFlags.range("--max-call-duration", callDuration, Duration.ofMillis(1), ServeFlags.YEAR);
        int most = range("--max-children", children.orElse(Limits.DEFAULT.maxChildren()));
        return new Limits(node, most, longest, (int) requestSize);
    }

    private static int range(String flag, int value) {
        return range(flag, value, MOST);
    }

    private static int range(String flag, int value, int most) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(flag + " must be 1 to " + most + ", not " + value);
        }
        return value;
    }

    /** Reads a size in bytes. */
    static final class Size implements ITypeConverter<Long> {
        private static final Pattern WRITTEN = Pattern.compile("(\\d{1,10})([kmg]?)");

        @Override
        public Long convert(String text) {
            Matcher matcher = WRITTEN.matcher(text.toLowerCase(Locale.ROOT));
            if (!matcher.matches()) {
                throw new TypeConversionException("'" + text + "' is no size; write it as 4096, 512k, 4m or 1g");
            }
            int shift = switch (matcher.group(2)) {
                case "k" -> 10;
                case "m" -> 20;
                case "g" -> 30;
                default -> 0;
            };
            return Long.parseLong(matcher.group(1)) << shift;
        }
    }
}

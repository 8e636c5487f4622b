package dev.holdfast.gateway;

import dev.holdfast.Lifetime;
import dev.holdfast.gateway.http.ServedPath;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.text.Durations;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of {@code holdfast serve}, with their defaults and ranges. */
final class ServeFlags {
    private static final Duration MILLI = Duration.ofMillis(1);
    private static final Duration HOUR = Duration.ofHours(1);
    static final Duration YEAR = Duration.ofDays(365);
    private static final String DEFAULT = " (default: ${DEFAULT-VALUE})";

    @Option(
            names = "--host",
            paramLabel = "HOST",
            defaultValue = "127.0.0.1",
            description = "name or address to listen on" + DEFAULT)
    private String host = "";

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "8080",
            description = "port to listen on, 0 for any free one" + DEFAULT)
    private int port;

    @Option(
            names = "--path",
            paramLabel = "PATH",
            defaultValue = "/mcp",
            description = "path of the MCP endpoint" + DEFAULT)
    private String path = "";

    @Option(
            names = "--reconnect-grace",
            paramLabel = "TIME",
            defaultValue = "30m",
            converter = Time.class,
            description =
                    "how long a session waits for its client when the connection broke; 0 ends it at once" + DEFAULT)
    private Duration grace = Duration.ZERO;

    @Option(
            names = "--idle-timeout",
            paramLabel = "TIME",
            defaultValue = "30m",
            converter = Time.class,
            description = "how long a session waits for its client when the connection ended in order" + DEFAULT)
    private Duration idle = Duration.ZERO;

    @Option(
            names = "--heartbeat",
            paramLabel = "TIME",
            defaultValue = "15s",
            converter = Time.class,
            description = "how long a stream is silent before a comment is sent on it" + DEFAULT)
    private Duration heartbeat = Duration.ZERO;

    @Option(
            names = "--retry",
            paramLabel = "TIME",
            defaultValue = "2s",
            converter = Time.class,
            description = "how long clients are told to wait before they reconnect" + DEFAULT)
    private Duration retry = Duration.ZERO;

    @Option(
            names = "--max-connection-age",
            paramLabel = "TIME",
            defaultValue = "0",
            converter = Time.class,
            description = "when a stream's connection is ended in order, before a proxy cuts it; 0 for never" + DEFAULT)
    private Duration maxAge = Duration.ZERO;

    @Option(
            names = "--keep-alive",
            paramLabel = "TIME",
            defaultValue = "75s",
            converter = Time.class,
            description =
                    "how long a connection without a request is kept; longer than a proxy in front keeps it" + DEFAULT)
    private Duration keepAlive = Duration.ZERO;

    @Mixin
    private UpstreamFlags upstream = new UpstreamFlags();

    @Mixin
    private SseFlags sse = new SseFlags();

    @Option(
            names = "--start-timeout",
            paramLabel = "TIME",
            defaultValue = "30s",
            converter = Time.class,
            description = "how long COMMAND, or the server at --upstream, may take to answer initialize" + DEFAULT)
    private Duration startTimeout = Duration.ZERO;

    @Option(
            names = "--drain-timeout",
            paramLabel = "TIME",
            defaultValue = "20s",
            converter = Time.class,
            description = "how long running calls may take once the gateway is told to end" + DEFAULT)
    private Duration drainTimeout = Duration.ZERO;

    @Option(
            names = "--log-level",
            paramLabel = "LEVEL",
            defaultValue = "info",
            converter = LogLevel.Converter.class,
            description = "error, warn, info, debug or trace" + DEFAULT)
    private LogLevel logLevel = LogLevel.INFO;

    @Option(
            names = "--access-log",
            paramLabel = "WHAT",
            converter = LogLevel.OfAccess.class,
            description = "sessions: a line for each session that begins or ends; calls: one for each call too; or off"
                    + " (default: sessions at --log-level info, calls at debug)")
    private @Nullable LogLevel accessLog;

    @Mixin
    private StoreFlags store = new StoreFlags();

    @Mixin
    private TrustFlags trust = new TrustFlags();

    @Mixin
    private LimitFlags limits = new LimitFlags();

    /** Logs as much as is wanted from now on. */
    void log() {
        logLevel.apply();
        Optional.ofNullable(accessLog).ifPresent(LogLevel::applyToAccess);
    }

    /**
     * The options, checked.
     *
     * @param command the server's command, if there is one
     * @throws IllegalArgumentException names the first option that is out of its range
     */
    ServeOptions options(Optional<ServerCommand> command) {
        if (port < 0 || port > 65_535) {
            throw new IllegalArgumentException("--port must be 0 to 65535, not " + port);
        }
        if (host.isBlank()) {
            throw new IllegalArgumentException("--host must be a name or an address");
        }
        if (!maxAge.isZero()) {
            range("--max-connection-age, unless it is 0,", maxAge, Duration.ofSeconds(1), YEAR);
        }
        Limits most = limits.limits();
        Lifetime lifetime = Lifetime.DEFAULT
                .withGrace(range("--reconnect-grace", grace, Duration.ZERO, YEAR))
                .withIdle(range("--idle-timeout", idle, MILLI, YEAR))
                .withCall(most.maxCallDuration());
        return new ServeOptions(
                host,
                port,
                range("--keep-alive", keepAlive, Duration.ofSeconds(1), HOUR),
                path.equals("/") ? path : ServedPath.checked("--path", path),
                lifetime,
                range("--heartbeat", heartbeat, Duration.ofMillis(100), HOUR),
                range("--retry", retry, Duration.ZERO, HOUR),
                maxAge,
                sse.options(path),
                range("--start-timeout", startTimeout, MILLI, HOUR),
                range("--drain-timeout", drainTimeout, Duration.ZERO, HOUR),
                trust.trust(),
                most,
                store.choice(),
                store.parkAfter(),
                server(command));
    }

    private ServerChoice server(Optional<ServerCommand> command) {
        Optional<ServerChoice> remote = upstream.choice();
        if (remote.isPresent() && command.isPresent()) {
            throw new IllegalArgumentException("--upstream takes the place of COMMAND: give one of them");
        }
        if (upstream.forwards() && store.choice() instanceof StoreChoice.Redis) {
            throw new IllegalArgumentException(
                    "--forward-header needs a store of this gateway's own: a request that another"
                            + " gateway passes on through Redis comes without its headers");
        }
        return remote.orElseGet(
                () -> command.<ServerChoice>map(ServerChoice.Command::new).orElseGet(ServerChoice.Demo::new));
    }

    /** The value, if it is in its range. */
    static Duration range(String flag, Duration value, Duration least, Duration most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw new IllegalArgumentException(flag + " must be " + Durations.text(least) + " to "
                    + Durations.text(most) + ", not " + Durations.text(value));
        }
        return value;
    }

    /** Reads a time. */
    static final class Time implements ITypeConverter<Duration> {
        @Override
        public Duration convert(String text) {
            return Durations.parse(text)
                    .orElseThrow(() -> new TypeConversionException(
                            "'" + text + "' is no time; write it as 500ms, 15s, 30m, 2h or 0"));
        }
    }
}

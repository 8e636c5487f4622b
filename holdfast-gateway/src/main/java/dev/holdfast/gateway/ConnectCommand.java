package dev.holdfast.gateway;

import dev.holdfast.client.ClientLimits;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.gateway.connect.Bridge;
import dev.holdfast.gateway.connect.Connections;
import dev.holdfast.gateway.connect.HeaderFile;
import dev.holdfast.gateway.text.OptionFile;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code holdfast connect}: a stdio server that is a bridge to a server over HTTP. */
@Command(
        name = "connect",
        mixinStandardHelpOptions = true,
        versionProvider = Main.Version.class,
        sortOptions = false,
        customSynopsis = "holdfast connect [OPTIONS] URL",
        description = {
            "Is an MCP server on standard input and output that passes everything on to the one at URL, over Streamable HTTP",
            "or HTTP+SSE, and comes back when the connection breaks. The log goes to standard error."
        })
final class ConnectCommand implements Runnable {
    private static final Logger log = LoggerFactory.getLogger(ConnectCommand.class);
    private static final int MOST_PORT = 65_535;
    private static final String DEFAULT = " (default: ${DEFAULT-VALUE})";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "URL", description = "the server, such as https://example.com/mcp")
    private String url = "";

    @Option(
            names = "--header",
            paramLabel = "HEADER",
            description =
                    "a header for each request, such as 'Authorization: Bearer TOKEN'; may be given more than once")
    private List<String> headers = new ArrayList<>();

    @Option(
            names = "--header-file",
            paramLabel = "FILE",
            description = "more headers, one on each line; read again when the server answers 401 or 403")
    private @Nullable Path headerFile;

    @Option(
            names = "--patience",
            paramLabel = "TIME",
            defaultValue = "2m",
            converter = ServeFlags.Time.class,
            description = "for how long a server that cannot be reached is tried again" + DEFAULT)
    private Duration patience = ClientLimits.DEFAULT.patience();

    @Option(
            names = "--max-silence",
            paramLabel = "TIME",
            defaultValue = "0",
            converter = ServeFlags.Time.class,
            description = "how long a connection may be silent before it counts as broken; 0: three times the rhythm"
                    + " of the server's heartbeats, 10s at least" + DEFAULT)
    private Duration maxSilence = ClientLimits.DEFAULT.silence();

    @Option(
            names = "--log-level",
            paramLabel = "LEVEL",
            defaultValue = "info",
            converter = LogLevel.Converter.class,
            description = "error, warn, info, debug or trace" + DEFAULT)
    private LogLevel logLevel = LogLevel.INFO;

    @Mixin
    private ParentWatch parent = new ParentWatch();

    @Override
    public void run() {
        URI uri = uri();
        HeaderFile sent = headers();
        ClientLimits limits = limits();
        logLevel.apply();
        warnOfPlainText(uri, sent);
        Bridge bridge = new Bridge(
                RemoteServer.at(uri, Connections.http(), Connections.clock(), Runnable::run)
                        .withLimits(limits)
                        .withRedirects()
                        .withRequests(sent.requests()),
                SessionOpening.Protocol.AUTOMATIC,
                System.in,
                // System.out does not tell when nobody reads
                new FileOutputStream(FileDescriptor.out));
        Runtime.getRuntime().addShutdownHook(new Thread(bridge::close, "holdfast-shutdown"));
        parent.begin();
        bridge.run();
    }

    private URI uri() {
        try {
            URI uri = URI.create(url);
            if (uri.getRawUserInfo() != null) {
                throw new ParameterException(
                        spec.commandLine(), "the URL must carry no credentials: they are given by --header-file");
            }
            boolean http = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
            if (http && uri.getHost() == null) {
                throw new ParameterException(spec.commandLine(), "'" + url + "' names no host that can be reached");
            }
            if (http && uri.getPort() > MOST_PORT) {
                throw new ParameterException(spec.commandLine(), "'" + url + "' has a port beyond " + MOST_PORT);
            }
            if (http) {
                return uri;
            }
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "'" + url + "' is no URL", e);
        }
        throw new ParameterException(spec.commandLine(), "'" + url + "' is no URL with http or https");
    }

    private ClientLimits limits() {
        try {
            return ClientLimits.DEFAULT
                    .withPatience(ServeFlags.range("--patience", patience, Duration.ZERO, ServeFlags.YEAR))
                    .withSilence(ServeFlags.range("--max-silence", maxSilence, Duration.ZERO, ServeFlags.YEAR));
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
        }
    }

    private HeaderFile headers() {
        try {
            return HeaderFile.of(
                    headers, Optional.ofNullable(headerFile).map(file -> new OptionFile("--header-file", file)));
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
        }
    }

    private static void warnOfPlainText(URI uri, HeaderFile sent) {
        if ("http".equalsIgnoreCase(uri.getScheme()) && !sent.isEmpty() && !isHere(uri.getHost())) {
            log.warn("headers are sent to {} without encryption, for its URL is http", uri.getHost());
        }
    }

    private static boolean isHere(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }
}

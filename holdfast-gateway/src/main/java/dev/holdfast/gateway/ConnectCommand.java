package dev.holdfast.gateway;

import dev.holdfast.client.ClientLimits;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.gateway.connect.Bridge;
import dev.holdfast.gateway.connect.HeaderFile;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.text.OptionFile;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** {@code holdfast connect}: a stdio server that is a bridge to a server over HTTP. */
final class ConnectCommand implements Runnable {
    private static final Logger log = LoggerFactory.getLogger(ConnectCommand.class);
    private static final int MOST_PORT = 65_535;
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    private final KnobValues settings;
    private final URI uri;
    private final HeaderFile headers;
    private final ParentWatch parent;

    /**
     * What the command line asks for.
     *
     * @throws IllegalArgumentException says what is wrong
     * @throws GatewayException if the file of headers cannot be read
     */
    ConnectCommand(String url, KnobValues settings, ParentWatch parent) {
        this.parent = parent;
        this.settings = settings;
        this.uri = uri(url);
        this.headers = HeaderFile.of(
                settings.get(Knobs.HEADER),
                settings.find(Knobs.HEADER_FILE).map(file -> new OptionFile(Knobs.HEADER_FILE.name(), file)));
    }

    /** The URL of a server, as all commands take it. */
    static URI uri(String url) {
        URI uri;
        try {
            uri = URI.create(url);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("'" + url + "' is no URL", e);
        }
        if (uri.getRawUserInfo() != null) {
            throw new IllegalArgumentException("the URL must carry no credentials: they are given by --header-file");
        }
        if (!"http".equalsIgnoreCase(uri.getScheme()) && !"https".equalsIgnoreCase(uri.getScheme())) {
            throw new IllegalArgumentException("'" + url + "' is no URL with http or https");
        }
        if (uri.getHost() == null) {
            throw new IllegalArgumentException("'" + url + "' names no host that can be reached");
        }
        if (uri.getPort() > MOST_PORT) {
            throw new IllegalArgumentException("'" + url + "' has a port beyond " + MOST_PORT);
        }
        return uri;
    }

    @Override
    public void run() {
        Logging.level(settings.get(Knobs.LOG_LEVEL));
        warnOfPlainText();
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, DaemonThreads.named("holdfast-clock"));
        clock.setRemoveOnCancelPolicy(true);
        HttpClient http = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(CONNECT_TIMEOUT)
                .build();
        ClientLimits limits = ClientLimits.DEFAULT
                .withRetryTimeout(settings.get(Knobs.PATIENCE))
                .withSilence(settings.get(Knobs.MAX_SILENCE));
        Bridge bridge = new Bridge(
                RemoteServer.at(uri, http, clock, Runnable::run)
                        .withLimits(limits)
                        .withRedirects()
                        .withRequests(headers.requests()),
                SessionOpener.Protocol.AUTOMATIC,
                System.in,
                // System.out does not tell when nobody reads
                new FileOutputStream(FileDescriptor.out));
        Runtime.getRuntime().addShutdownHook(new Thread(bridge::close, "holdfast-shutdown"));
        parent.begin(settings);
        bridge.run();
    }

    private void warnOfPlainText() {
        if ("http".equalsIgnoreCase(uri.getScheme()) && !headers.isEmpty() && !isHere(uri.getHost())) {
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

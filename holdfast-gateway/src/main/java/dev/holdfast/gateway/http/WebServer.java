package dev.holdfast.gateway.http;

import dev.holdfast.gateway.text.GatewayException;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An embedded Jetty with one context and no scanning. */
public final class WebServer {
    /** Where the gateway tells how it is. */
    static final String HEALTH = "/healthz";
    /** Where it tells what its engine holds and counts, to those whom it serves. */
    static final String STATS = "/stats";
    /** Where it tells Prometheus what it measures, to the same. */
    static final String METRICS = "/metrics";

    private static final Pattern PATH = Pattern.compile("(/[A-Za-z0-9._~-]+)++");
    private static final Pattern DOTS = Pattern.compile("/\\.{1,2}(/|$)");

    private static final Logger log = LoggerFactory.getLogger(WebServer.class);
    /** Threads serve requests, not connections: beyond this number they would only wait for each other. */
    private static final int MOST_THREADS = 200;

    private static final int LEAST_THREADS = 8;
    /** All clients may come back at once after a cut. */
    private static final int BACKLOG = 1024;
    /** How long a write of a response, or a read of a body, may wait for the peer; a silent stream is not touched by it. */
    private static final long STUCK_MILLIS = TimeUnit.SECONDS.toMillis(60);

    private static final long LAST_BYTES_MILLIS = TimeUnit.SECONDS.toMillis(1);
    /** How long Jetty may take to stop: of itself it may wait for ever, its selector for a writer that waits for the selector. */
    private static final Duration END = Duration.ofSeconds(5);

    private final Server server;
    private final ServerConnector connector;
    private final ConnectionBound bound;
    private final GracefulHandler requests = new GracefulHandler();
    private final NeutralErrors errors = new NeutralErrors(() -> this.stopping);
    private volatile boolean stopping;

    private WebServer(Server server, ServerConnector connector, ConnectionBound bound) {
        this.server = server;
        this.connector = connector;
        this.bound = bound;
        server.setErrorHandler(errors);
    }

    /**
     * Takes a port; nobody is served yet.
     *
     * @param times how long connections may take
     * @throws GatewayException if it cannot be had
     */
    public static WebServer listen(String host, InetAddress address, int port, ConnectionTimes times) {
        QueuedThreadPool threads = new QueuedThreadPool(MOST_THREADS, LEAST_THREADS);
        threads.setName("holdfast-http");
        Server server = new Server(threads);
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        http.setSendXPoweredBy(false);
        http.setIdleTimeout(STUCK_MILLIS);
        // a table of the headers that a client repeats takes 98 KB for each connection
        http.setHeaderCacheSize(0);
        ServerConnector connector = new WatchingConnector(server, new HttpConnectionFactory(http));
        connector.setHost(address.getHostAddress());
        connector.setPort(port);
        connector.setAcceptQueueSize(BACKLOG);
        connector.setIdleTimeout(times.keepAlive().toMillis());
        HeadDeadline.set(connector, times.head());
        server.addConnector(connector);
        ConnectionBound bound = new ConnectionBound(server);
        server.addBean(bound);
        try {
            connector.open();
        } catch (IOException e) {
            throw new GatewayException(reason(host, port, e), e);
        }
        return new WebServer(server, connector, bound);
    }

    private static String reason(String host, int port, IOException failure) {
        Throwable cause = failure.getCause() instanceof BindException bind ? bind : failure;
        String text = String.valueOf(cause.getMessage());
        if (text.toLowerCase(Locale.ROOT).contains("in use")) {
            return "port " + port + " of " + host + " is taken; choose another with --port";
        }
        return "cannot listen on port " + port + " of " + host + ": " + text;
    }

    /**
     * Checks a path that is to be served.
     *
     * @throws IllegalArgumentException says of "path" what is wrong with it
     */
    public static void checkPath(String path) {
        if (!path.startsWith("/")) {
            throw new IllegalArgumentException(
                    "path must begin with '/', " + (path.isEmpty() ? "and is empty" : "not be " + path));
        }
        if (!PATH.matcher(path).matches() || List.of(HEALTH, STATS, METRICS).contains(path)) {
            throw new IllegalArgumentException("path must be of letters, digits and ._~- between single '/', and not "
                    + HEALTH + ", " + STATS + " or " + METRICS + ": " + path);
        }
        if (hasDots(path)) {
            throw new IllegalArgumentException(
                    "path must not have . or .. between its '/', which clients take away: " + path);
        }
    }

    /** Whether a part of a path is not sent by clients as it is written. */
    public static boolean hasDots(String path) {
        return DOTS.matcher(path).find();
    }

    /** How many connections it takes. */
    public int mostConnections() {
        return bound.getMaxNetworkConnectionCount();
    }

    /** Closes the port of a server that was never started. */
    public void release() {
        connector.close();
    }

    /**
     * Starts to serve.
     *
     * @param store how the store is
     * @param paths where the endpoint is
     */
    public void start(Endpoint endpoint, Supplier<StoreHealth> store, List<String> paths) {
        ServletContextHandler context = new ServletContextHandler("/", false, false);
        context.setErrorHandler(errors);
        ServletHolder mcp = new ServletHolder("mcp", endpoint.servlet());
        mcp.setAsyncSupported(true);
        mcp.setInitOrder(0);
        for (String path : paths) {
            if (path.equals("/")) {
                context.addServlet(mcp, "");
            } else {
                context.addServlet(mcp, path);
                context.addServlet(mcp, path + "/");
            }
        }
        context.addServlet(new ServletHolder("unknown", new UnknownPath()), "/");
        Supplier<Page> health = () -> Status.health(endpoint.engine(), store.get());
        addPage(
                context,
                HEALTH,
                new StatusServlet(Guard.NONE, health, () -> health.get().code()));
        addPage(
                context,
                STATS,
                new StatusServlet(endpoint.guard(), () -> Status.stats(endpoint.engine()), () -> Page.OK));
        addPage(
                context,
                METRICS,
                new StatusServlet(
                        endpoint.guard(), () -> Page.metrics(endpoint.metrics().scrape()), () -> Page.OK));
        requests.setHandler(context);
        server.setHandler(requests);
        try {
            server.start();
        } catch (Exception e) {
            throw new IllegalStateException("the HTTP server did not start", e);
        }
    }

    private static void addPage(ServletContextHandler context, String path, StatusServlet servlet) {
        ServletHolder page = new ServletHolder(path, servlet);
        page.setAsyncSupported(true);
        context.addServlet(page, path);
    }

    public int port() {
        return connector.getLocalPort();
    }

    public void join() {
        try {
            server.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Stops the server. Responses that have just ended still reach their clients. Waits no longer than some seconds. */
    public void stop() {
        stopping = true;
        Thread ending = new Thread(this::end, "holdfast-http-end");
        ending.setDaemon(true);
        ending.start();
        try {
            ending.join(END.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (ending.isAlive()) {
            log.warn("the HTTP server has not stopped within {} s and is left behind", END.toSeconds());
        }
    }

    private void end() {
        try {
            requests.shutdown()
                    .completeOnTimeout(null, LAST_BYTES_MILLIS, TimeUnit.MILLISECONDS)
                    .join();
            server.stop();
        } catch (Exception e) {
            log.warn("the HTTP server did not stop in order", e);
        }
    }
}

package dev.holdfast.gateway.http;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.json.JsonRpc;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.BindException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jetty.ee11.servlet.ErrorHandler;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.ee11.servlet.ServletMapping;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An embedded Jetty with one context and no scanning. */
public final class WebServer {
    private static final Set<String> PAGES = Stream.concat(
                    Stream.of(StatusPages.HEALTH, StatusPages.STATS, StatusPages.METRICS),
                    ConsoleServlet.PATHS.stream())
            .collect(Collectors.toUnmodifiableSet());

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

    /** What the process has open of its own, with the tables of a large store. */
    private static final long OWN_FILES = 256;

    private static final long LAST_BYTES_MILLIS = TimeUnit.SECONDS.toMillis(1);
    /** How long Jetty may take to stop: of itself it may wait for ever, its selector for a writer that waits for the selector. */
    private static final Duration END = Duration.ofSeconds(5);

    private final Server server;
    private final ServerConnector connector;
    private final ConnectionLimit limit;
    private final boolean isSecured;
    private final GracefulHandler requests = new GracefulHandler();
    private final ServletContextHandler context = new ServletContextHandler("/", false, false);
    private final AtomicInteger servlets = new AtomicInteger();
    /** What is served now, by name. */
    private final Map<String, HttpServlet> endpoints = new HashMap<>();

    private final ErrorHandler errors = new NeutralErrors();
    private volatile boolean stopping;

    private WebServer(Server server, ServerConnector connector, ConnectionLimit limit, boolean isSecured) {
        this.server = server;
        this.isSecured = isSecured;
        this.connector = connector;
        this.limit = limit;
        server.setErrorHandler(errors);
    }

    /**
     * Takes a port; nobody is served yet.
     *
     * @param head how long the head of a request may take, from its first byte on
     * @param keepAlive how long a connection is kept between two requests
     * @param certificate what TLS is spoken with; empty for plain HTTP
     * @throws GatewayException if it cannot be had
     */
    public static WebServer listen(
            String host,
            InetAddress address,
            int port,
            Duration head,
            Duration keepAlive,
            Optional<TlsFiles> certificate) {
        QueuedThreadPool threads = new QueuedThreadPool(MOST_THREADS, LEAST_THREADS);
        threads.setName("holdfast-http");
        Server server = new Server(threads);
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        http.setSendXPoweredBy(false);
        http.setIdleTimeout(STUCK_MILLIS);
        // a table of the headers that a client repeats takes 98 KB for each connection
        http.setHeaderCacheSize(0);
        ServerConnector connector = WatchedEndPoint.connector(server, http, head, certificate);
        connector.setHost(address.getHostAddress());
        connector.setPort(port);
        connector.setAcceptQueueSize(BACKLOG);
        connector.setIdleTimeout(keepAlive.toMillis());
        server.addConnector(connector);
        ConnectionLimit limit = new ConnectionLimit(server);
        server.addBean(limit);
        try {
            connector.open();
        } catch (IOException e) {
            throw new GatewayException(reason(host, port, e), e);
        }
        return new WebServer(server, connector, limit, certificate.isPresent());
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
        if (!PATH.matcher(path).matches()) {
            throw new IllegalArgumentException("path must be of letters, digits and ._~- between single '/': " + path);
        }
        if (PAGES.contains(path) || (path + "/").startsWith(ProtectedResource.WELL_KNOWN + "/")) {
            throw new IllegalArgumentException("path must not be a page of the gateway's own: " + path);
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
        return limit.getMaxNetworkConnectionCount();
    }

    /** Closes the port of a server that was never started. */
    public void release() {
        connector.close();
    }

    /**
     * Serves an endpoint from now on, before the start or after it, and nothing else at its paths.
     *
     * @param name whose it is: what had that name before is served no more
     * @param paths where it is
     */
    public synchronized void serve(String name, HttpServlet endpoint, List<String> paths) {
        map(name, endpoint, paths);
        Optional.ofNullable(endpoints.put(name, endpoint)).ifPresent(HttpServlet::destroy);
    }

    /** Has this stand at the paths of an endpoint, which it may go on to use, until another endpoint is served by that name. */
    public synchronized void map(String name, HttpServlet endpoint, List<String> paths) {
        ServletHolder mcp = holder(name + " " + servlets.incrementAndGet(), endpoint);
        mcp.setInitOrder(0);
        ServletMapping mapping = new ServletMapping();
        mapping.setServletName(mcp.getName());
        mapping.setPathSpecs(paths.stream()
                .flatMap(path -> path.equals("/") ? Stream.of("") : Stream.of(path, path + "/"))
                .toArray(String[]::new));
        replace(name, Optional.of(mcp), Stream.of(mapping));
    }

    /** Serves nothing of this name any more. */
    public synchronized void remove(String name) {
        replace(name, Optional.empty(), Stream.empty());
        Optional.ofNullable(endpoints.remove(name)).ifPresent(HttpServlet::destroy);
    }

    /** Between what was there and what comes no request finds nothing. */
    private void replace(String name, Optional<ServletHolder> next, Stream<ServletMapping> mapping) {
        ServletHandler handler = context.getServletHandler();
        Predicate<String> before = each -> each.matches(Pattern.quote(name) + " \\d+");
        List<ServletHolder> there = List.of(handler.getServlets());
        next.ifPresent(handler::addServlet);
        handler.setServletMappings(Stream.concat(
                        Arrays.stream(handler.getServletMappings()).filter(each -> !before.test(each.getServletName())),
                        mapping)
                .toArray(ServletMapping[]::new));
        // Jetty would stop those that it has started, and they would answer 404 to requests that have found them
        // already
        there.stream().filter(each -> before.test(each.getName())).forEach(handler::unmanage);
        handler.setServlets(Stream.concat(there.stream().filter(each -> !before.test(each.getName())), next.stream())
                .toArray(ServletHolder[]::new));
    }

    /**
     * Starts to serve.
     *
     * @param pages what is served beside the endpoints
     */
    public void start(StatusPages pages) {
        context.setErrorHandler(errors);
        pages.servlets().forEach(this::page);
        context.addServlet(holder("unknown", new UnknownPath()), "/");
        requests.setHandler(context);
        server.setHandler(isSecured ? new SecuredOnly(requests) : requests);
        try {
            server.start();
        } catch (Exception e) {
            throw new IllegalStateException("the HTTP server did not start", e);
        }
    }

    /** Serves something beside the endpoints and the pages, before the start. */
    public void page(String path, HttpServlet page) {
        context.addServlet(holder(path, page), path);
    }

    private static ServletHolder holder(String name, HttpServlet servlet) {
        ServletHolder holder = new ServletHolder(name, servlet);
        holder.setAsyncSupported(true);
        return holder;
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

    /** How many connections there may be where so many files may be open: a child takes three files, and they get a quarter. */
    static int connections(long files) {
        long quarter = files / 4;
        return (int) Math.min(Integer.MAX_VALUE, Math.max(quarter, files - quarter - OWN_FILES));
    }

    /**
     * Bounds the connections, so that strangers who open them leave files for the store and for child processes. Beyond it none is
     * accepted until one closes: those who come wait in the queue of the port.
     */
    private static final class ConnectionLimit extends NetworkConnectionLimit {
        private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);

        private ConnectionLimit(Server server) {
            super(connections(files()), server);
        }

        /** How many files this process may have open. */
        private static long files() {
            long most = ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                    ? system.getMaxFileDescriptorCount()
                    : 0;
            return most > 0 ? most : Long.MAX_VALUE;
        }

        @Override
        protected void limit() {
            super.limit();
            complaints.write(more -> log.warn(
                    "{} connections are open, and more would leave too few files for the rest (ulimit -n): who comes now"
                            + " waits until one closes{}",
                    getMaxNetworkConnectionCount(),
                    more));
        }
    }

    /** Tells who speaks plain HTTP to a port of TLS what is wrong. To send it on would hide that its token can be read on the way. */
    private static final class SecuredOnly extends Handler.Wrapper {
        private SecuredOnly(Handler handler) {
            super(handler);
        }

        @Override
        public boolean handle(Request request, Response response, Callback callback) throws Exception {
            // the URL of a request may claim https
            if (request.getConnectionMetaData().getConnection().getEndPoint().isSecure()) {
                return super.handle(request, response, callback);
            }
            response.setStatus(HttpStatus.BAD_REQUEST_400);
            response.getHeaders().put(HttpHeader.CONNECTION, "close");
            answer(
                    response,
                    callback,
                    JsonRpc.SERVER_ERROR,
                    "400 Bad Request: this port speaks HTTPS; begin the URL with https://");
            return true;
        }
    }

    private static void answer(Response response, Callback callback, int code, String text) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json;charset=utf-8");
        response.write(true, ByteBuffer.wrap(JsonRpc.errorBody(Optional.empty(), code, text)), callback);
    }

    /** Answers 404 where nothing is, whatever the method; the servlet of Jetty for it knows GET alone. */
    private static final class UnknownPath extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.sendError(HttpServletResponse.SC_NOT_FOUND);
        }
    }

    /**
     * Answers what never reached the MCP endpoint, or failed in it: a JSON-RPC error that names the status, and nothing of ours. A
     * server that stops ends requests whose head has begun to arrive as if it had failed on them, and finds nothing any more: that is
     * no fault of theirs, they may come again.
     */
    private final class NeutralErrors extends ErrorHandler {
        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            int status = response.getStatus();
            if (stopping && (status == HttpStatus.NOT_FOUND_404 || status == HttpStatus.INTERNAL_SERVER_ERROR_500)) {
                status = HttpStatus.SERVICE_UNAVAILABLE_503;
                response.setStatus(status);
                response.getHeaders().put(HttpHeader.RETRY_AFTER, "1");
            }
            int code = status == HttpStatus.INTERNAL_SERVER_ERROR_500 ? JsonRpc.INTERNAL_ERROR : JsonRpc.SERVER_ERROR;
            answer(response, callback, code, status + " " + HttpStatus.getMessage(status));
            return true;
        }
    }
}

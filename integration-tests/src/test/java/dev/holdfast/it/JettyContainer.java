package dev.holdfast.it;

import dev.holdfast.servlet.ConnectionReset;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterRegistration;
import jakarta.servlet.ServletContainerInitializer;
import jakarta.servlet.ServletRegistration;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty, embedded. */
final class JettyContainer implements Container {
    /** What Jetty keeps for itself: one selector, one acceptor. */
    private static final int OWN_THREADS = 2;

    private static final long PATIENCE_MILLIS = 10_000;

    private final Server server;
    private final ServerConnector connector;

    JettyContainer(int threads) {
        QueuedThreadPool pool = new QueuedThreadPool(threads + OWN_THREADS, Math.min(threads, 4) + OWN_THREADS);
        pool.setReservedThreads(0);
        server = new Server(pool);
        connector = new ServerConnector(server, 1, 1);
        connector.setAcceptQueueSize(BACKLOG);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
    }

    @Override
    public void serveHttp2() {
        HttpConfiguration configuration =
                connector.getConnectionFactory(HttpConnectionFactory.class).getHttpConfiguration();
        connector.addConnectionFactory(new HTTP2CServerConnectionFactory(configuration));
    }

    @Override
    public void start(HttpServlet servlet, List<Filter> filters) throws Exception {
        Handler context =
                (Handler) environment("ServletContextHandler").getConstructor().newInstance();
        context.getClass()
                .getMethod("addServletContainerInitializer", ServletContainerInitializer.class)
                .invoke(context, (ServletContainerInitializer) (classes, servlets) -> {
                    for (Filter filter : filters) {
                        FilterRegistration.Dynamic registration =
                                servlets.addFilter("filter" + filters.indexOf(filter), filter);
                        registration.setAsyncSupported(true);
                        registration.addMappingForUrlPatterns(EnumSet.of(DispatcherType.REQUEST), true, "/*");
                    }
                    ServletRegistration.Dynamic registration = servlets.addServlet("mcp", servlet);
                    registration.setAsyncSupported(true);
                    registration.setLoadOnStartup(1);
                    registration.addMapping("/*");
                });
        server.setHandler(context);
        server.start();
    }

    /** A class of Jetty's servlets: of Servlet 6.1 (ee11), or of 6.0 (ee10) where that is what there is. */
    private static Class<?> environment(String name) throws ClassNotFoundException {
        try {
            return Class.forName("org.eclipse.jetty.ee11.servlet." + name);
        } catch (ClassNotFoundException e) {
            return Class.forName("org.eclipse.jetty.ee10.servlet." + name);
        }
    }

    @Override
    public int port() {
        return connector.getLocalPort();
    }

    /**
     * Where a connection breaks at this moment, Jetty's selector may wait for ever for a writer that waits for the selector. Such a
     * server is left behind, and no other.
     */
    @Override
    public void stop() throws Exception {
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        Thread stopping = new Thread(() -> stop(stopped), "jetty-stop");
        stopping.setDaemon(true);
        stopping.start();
        stopping.join(PATIENCE_MILLIS);
        while (stopping.isAlive() && !selectorWaitsForWriter()) {
            stopping.join(PATIENCE_MILLIS);
        }
        if (!stopping.isAlive()) {
            stopped.get();
        }
    }

    private static boolean selectorWaitsForWriter() {
        return Thread.getAllStackTraces().values().stream()
                .flatMap(Arrays::stream)
                .anyMatch(frame -> frame.getClassName().endsWith("$CancelSendException"));
    }

    private void stop(CompletableFuture<Void> stopped) {
        try {
            server.stop();
            stopped.complete(null);
        } catch (Throwable e) {
            stopped.completeExceptionally(e);
        }
    }

    @Override
    public ConnectionReset connectionReset() {
        return request -> {
            EndPoint endPoint =
                    core(request).getConnectionMetaData().getConnection().getEndPoint();
            return () -> reset(endPoint);
        };
    }

    private static Request core(HttpServletRequest request) {
        try {
            return (Request) environment("ServletContextRequest")
                    .getMethod("getServletContextRequest", ServletRequest.class)
                    .invoke(null, request);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void reset(EndPoint endPoint) {
        try {
            if (endPoint.getTransport() instanceof SocketChannel channel) {
                channel.setOption(StandardSocketOptions.SO_LINGER, 0);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        endPoint.close();
    }
}

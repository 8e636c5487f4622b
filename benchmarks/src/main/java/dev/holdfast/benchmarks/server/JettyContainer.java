package dev.holdfast.benchmarks.server;

import jakarta.servlet.http.HttpServlet;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty 12.1, ee11. */
final class JettyContainer implements Container {
    private static final int LEAST_THREADS = 8;

    @Override
    public int start(int port, Map<HttpServlet, List<String>> servlets) throws Exception {
        Server server = new Server(new QueuedThreadPool(MOST_THREADS, LEAST_THREADS));
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http));
        connector.setHost("127.0.0.1");
        connector.setPort(port);
        connector.setAcceptQueueSize(BACKLOG);
        connector.setIdleTimeout(IDLE_MILLIS);
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler("/", false, false);
        servlets.forEach((servlet, paths) -> {
            ServletHolder holder = new ServletHolder(servlet.getClass().getSimpleName(), servlet);
            holder.setAsyncSupported(true);
            paths.forEach(path -> context.addServlet(holder, path));
        });
        server.setHandler(context);
        server.start();
        return connector.getLocalPort();
    }
}

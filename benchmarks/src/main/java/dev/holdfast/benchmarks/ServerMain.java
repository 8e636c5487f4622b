package dev.holdfast.benchmarks;

import dev.holdfast.servlet.HttpSseOptions;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** One of the compared servers in a JVM of its own, always in the same container. Arguments: kind, variant, port (0 for any). */
final class ServerMain {
    private static final int MOST_THREADS = 200;
    private static final int LEAST_THREADS = 8;
    private static final int BACKLOG = 1024;
    private static final long IDLE_MILLIS = 60_000;

    private ServerMain() {}

    public static void main(String[] args) throws Exception {
        Contender contender = Contender.of(args[0], Variant.valueOf(args[1].toUpperCase(Locale.ROOT)));
        Server server = new Server(new QueuedThreadPool(MOST_THREADS, LEAST_THREADS));
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http));
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(args[2]));
        connector.setAcceptQueueSize(BACKLOG);
        connector.setIdleTimeout(IDLE_MILLIS);
        server.addConnector(connector);

        ServletContextHandler context = new ServletContextHandler("/", false, false);
        ServletHolder endpoint = new ServletHolder("mcp", contender.servlet());
        endpoint.setAsyncSupported(true);
        context.addServlet(endpoint, "/mcp");
        context.addServlet(endpoint, HttpSseOptions.DEFAULT.path());
        context.addServlet(endpoint, HttpSseOptions.DEFAULT.messagePath());
        context.addServlet(new ServletHolder("control", new ControlServlet(contender)), "/control/*");
        server.setHandler(context);
        server.start();
        long uptime = ManagementFactory.getRuntimeMXBean().getUptime();
        System.out.println("ready after " + uptime + " ms");
        System.out.println("listening " + connector.getLocalPort());
    }
}

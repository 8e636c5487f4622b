package dev.holdfast.benchmarks.server;

import jakarta.servlet.http.HttpServlet;
import java.util.List;
import java.util.Map;

/** A servlet container that can be started on a port of the loopback address. */
interface Container {
    /** Threads that a container may have at most; the default of both. */
    int MOST_THREADS = 200;
    /** Connections that wait to be accepted. */
    int BACKLOG = 1024;
    /** Milliseconds after which a connection without traffic is closed. */
    int IDLE_MILLIS = 60_000;

    /**
     * Starts it.
     *
     * @param port 0 for any
     * @param servlets what answers, and on which paths
     * @return the port
     */
    int start(int port, Map<HttpServlet, List<String>> servlets) throws Exception;

    /** The container of this name: {@code jetty} or {@code tomcat}. */
    static Container of(String name) {
        return switch (name) {
            case "jetty" -> new JettyContainer();
            case "tomcat" -> new TomcatContainer();
            default -> throw new IllegalArgumentException("no such container: " + name);
        };
    }
}

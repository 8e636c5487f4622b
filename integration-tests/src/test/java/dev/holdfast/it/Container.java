package dev.holdfast.it;

import dev.holdfast.servlet.ConnectionReset;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.util.List;

/** A servlet container with one servlet on every path, on a free port of the loopback address. */
interface Container {
    /** How many clients may come at once: with the default of Jetty (50) or Tomcat (100), some of many would be reset. */
    int BACKLOG = 2_048;

    /** Serves HTTP/2 without TLS on the same port, to clients that ask for it; called before the start. */
    void serveHttp2();

    /** Starts the container with a servlet, asynchronous and loaded at once, behind filters. */
    void start(HttpServlet servlet, List<Filter> filters) throws Exception;

    /** The port that the started container listens on. */
    int port();

    /** Stops the container and waits until it is gone. */
    void stop() throws Exception;

    /** How to reset a connection of this container, if there is a way. */
    ConnectionReset connectionReset();
}

package dev.holdfast.benchmarks.server;

import jakarta.servlet.http.HttpServlet;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/** Tomcat 11, embedded. */
final class TomcatContainer implements Container {
    @Override
    public int start(int port, Map<HttpServlet, List<String>> servlets) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
        Connector connector = new Connector();
        connector.setPort(port);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxThreads", Integer.toString(MOST_THREADS));
        connector.setProperty("acceptCount", Integer.toString(BACKLOG));
        connector.setProperty("connectionTimeout", Integer.toString(IDLE_MILLIS));
        // else it closes each connection after a hundred requests, and connecting is measured too
        connector.setProperty("maxKeepAliveRequests", "-1");
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", null);
        servlets.forEach((servlet, paths) -> {
            Wrapper wrapper = Tomcat.addServlet(context, servlet.getClass().getSimpleName(), servlet);
            wrapper.setAsyncSupported(true);
            paths.forEach(path -> wrapper.addMapping(path));
        });
        tomcat.start();
        return connector.getLocalPort();
    }
}

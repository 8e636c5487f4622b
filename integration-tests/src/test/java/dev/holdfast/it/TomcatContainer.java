package dev.holdfast.it;

import dev.holdfast.servlet.ConnectionReset;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.IntrospectionUtils;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.apache.tomcat.util.modeler.Registry;

/** Tomcat, embedded. It has no way to reset a connection: its write timeout rules. */
final class TomcatContainer implements Container {
    /** Held, since the logging of the JDK forgets the level of a logger that nobody holds. */
    private static final Logger LOGGER = Logger.getLogger("org.apache");

    private static final int UNLOCK_MILLIS = 10_000;

    static {
        // two that start at once would register the same names, and one of them fail
        Registry.disableRegistry();
    }

    private final Tomcat tomcat = new Tomcat();
    private final Connector connector = new Connector();

    TomcatContainer(int threads, Duration writeTimeout) {
        LOGGER.setLevel(Level.WARNING);
        tomcat.setBaseDir(Path.of("target", "tomcat").toAbsolutePath().toString());
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("acceptCount", Integer.toString(Container.BACKLOG));
        connector.setProperty("maxThreads", Integer.toString(threads));
        connector.setProperty("minSpareThreads", Integer.toString(Math.min(threads, 4)));
        // it complains of a thread that accepts connections and is not done by then
        connector.setProperty("unlockTimeout", Integer.toString(UNLOCK_MILLIS));
        // the one timeout for reading a request and for writing a response
        connector.setProperty("connectionTimeout", Long.toString(writeTimeout.toMillis()));
        tomcat.setConnector(connector);
        // by default its own answers show stack traces, and its name
        ErrorReportValve errors = new ErrorReportValve();
        errors.setShowReport(false);
        errors.setShowServerInfo(false);
        tomcat.getHost().getPipeline().addValve(errors);
    }

    @Override
    public void serveHttp2() {
        connector.addUpgradeProtocol(new Http2Protocol());
    }

    @Override
    public void start(HttpServlet servlet, List<Filter> filters) throws Exception {
        StandardContext context = (StandardContext) tomcat.addContext("", null);
        // it would complain that the JVM does not let it look for them
        context.setClearReferencesRmiTargets(false);
        context.setClearReferencesThreadLocals(false);
        // of Tomcat 10.1 alone
        IntrospectionUtils.setProperty(context, "clearReferencesObjectStreamClassCaches", "false");
        for (Filter filter : filters) {
            String name = "filter" + filters.indexOf(filter);
            FilterDef definition = new FilterDef();
            definition.setFilterName(name);
            definition.setFilter(filter);
            definition.setAsyncSupported("true");
            context.addFilterDef(definition);
            FilterMap mapping = new FilterMap();
            mapping.setFilterName(name);
            mapping.addURLPattern("/*");
            context.addFilterMap(mapping);
        }
        Wrapper wrapper = Tomcat.addServlet(context, "mcp", servlet);
        wrapper.setAsyncSupported(true);
        wrapper.setLoadOnStartup(1);
        wrapper.addMapping("/*");
        tomcat.start();
    }

    @Override
    public int port() {
        return connector.getLocalPort();
    }

    @Override
    public void stop() throws Exception {
        tomcat.stop();
        tomcat.destroy();
    }

    @Override
    public ConnectionReset connectionReset() {
        return ConnectionReset.NONE;
    }
}

package dev.holdfast.benchmarks.server;

import dev.holdfast.servlet.HttpSseOptions;
import jakarta.servlet.http.HttpServlet;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** One of the compared servers in a JVM of its own. Arguments: kind, variant, port (0 for any), container (jetty if none is named). */
final class ServerMain {
    private ServerMain() {}

    public static void main(String[] args) throws Exception {
        Contender contender = Contender.of(args[0], Variant.valueOf(args[1].toUpperCase(Locale.ROOT)));
        Container container = Container.of(args.length > 3 ? args[3] : "jetty");
        Map<HttpServlet, List<String>> servlets = Map.of(
                contender.servlet(),
                List.of("/mcp", HttpSseOptions.DEFAULT.path(), HttpSseOptions.DEFAULT.messagePath()),
                new ControlServlet(contender),
                List.of("/control/*"));
        int port = container.start(Integer.parseInt(args[2]), servlets);
        long uptime = ManagementFactory.getRuntimeMXBean().getUptime();
        System.out.println("ready after " + uptime + " ms");
        System.out.println("listening " + port);
    }
}

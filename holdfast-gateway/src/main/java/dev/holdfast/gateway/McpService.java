package dev.holdfast.gateway;

import dev.holdfast.ByteBudget;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.demo.DemoServer;
import dev.holdfast.gateway.http.Endpoint;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.RememberedProcesses;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.stdio.StdioBackend;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.upstream.UpstreamBackend;
import dev.holdfast.upstream.UpstreamHttp;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the gateway serves.
 *
 * @param endpoint its HTTP side
 * @param release lets go of what is left when the sessions have ended; blocks until that is gone
 */
record McpService(Endpoint endpoint, Runnable release) {
    private static final Logger log = LoggerFactory.getLogger(McpService.class);

    /** The server of the command line. The caller closes the store, after the service. */
    static McpService of(
            ServeOptions options, StdioOptions child, EdgeOptions edge, SessionStore store, Meters meters) {
        ServerChoice server = options.server();
        if (server instanceof ServerChoice.Command command) {
            return stdio(options, command.command(), child, edge, store, meters);
        }
        return server instanceof ServerChoice.Upstream upstream
                ? upstream(options, upstream, edge, store, meters)
                : demo(options, edge, store, meters);
    }

    /** A child process for each session. */
    private static McpService stdio(
            ServeOptions options,
            ServerCommand command,
            StdioOptions child,
            EdgeOptions edge,
            SessionStore store,
            Meters meters) {
        if (ProcessHandle.current().pid() == 1) {
            log.warn(
                    "this is process 1 of its container: what server processes leave behind stays as zombies, unless an init"
                            + " process collects it (docker run --init)");
        }
        ScheduledThreadPoolExecutor clock = clock();
        ByteBudget budget = ByteBudget.ofHeap();
        StdioBackend backend = new StdioBackend(
                command,
                child,
                processes(options, child, clock),
                options.limits().maxChildren(),
                clock,
                budget);
        meters.watch(backend);
        McpService service = of(options, new HintedBackend(backend), budget, clock, edge, store, meters);
        return new McpService(service.endpoint, () -> {
            backend.close();
            service.release.run();
        });
    }

    /** Where there is a folder, it remembers the children, and those are ended that are left of the last time. */
    private static Processes processes(ServeOptions options, StdioOptions child, ScheduledThreadPoolExecutor clock) {
        Processes processes = Processes.ofThisMachine();
        return options.store() instanceof StoreChoice.RocksDb disk
                ? RememberedProcesses.in(disk.folder(), processes, clock, child.termGrace())
                : processes;
    }

    /** A session at another server for each session. */
    private static McpService upstream(
            ServeOptions options, ServerChoice.Upstream server, EdgeOptions edge, SessionStore store, Meters meters) {
        ScheduledThreadPoolExecutor clock = clock();
        ByteBudget budget = ByteBudget.ofHeap();
        UpstreamBackend backend = UpstreamBackend.builder(server.url())
                .http(UpstreamHttp.jetty())
                .forward(server.forwarded())
                .openTimeout(options.startTimeout())
                .scheduler(clock)
                .budget(budget)
                .open();
        McpService service = of(options, backend, budget, clock, edge, store, meters);
        return new McpService(service.endpoint, () -> {
            service.release.run();
            backend.close();
        });
    }

    private static ScheduledThreadPoolExecutor clock() {
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, DaemonThreads.named("holdfast-clock"));
        clock.setRemoveOnCancelPolicy(true);
        return clock;
    }

    private static McpService of(
            ServeOptions options,
            Backend backend,
            ByteBudget budget,
            ScheduledThreadPoolExecutor clock,
            EdgeOptions edge,
            SessionStore store,
            Meters meters) {
        SessionEngine engine = SessionEngine.builder(backend, JsonRpc.MESSAGES)
                .scheduler(clock)
                .store(meters.timed(store))
                .listener(meters.sessions())
                .callListener(meters.calls())
                .parkAfter(options.parkAfter())
                .nodeName(options.store().node().name())
                .lease(options.store().node().lease())
                .nodeLimits(options.limits().node())
                .budget(budget)
                .build()
                .start();
        meters.watch(engine);
        McpServlet servlet = new McpServlet(engine, edge);
        return new McpService(new Endpoint(servlet, servlet::admits, engine, meters), () -> {
            engine.close();
            clock.shutdownNow();
        });
    }

    /** The built-in server. */
    private static McpService demo(ServeOptions options, EdgeOptions edge, SessionStore store, Meters meters) {
        HoldfastTransportProvider provider = HoldfastTransportProvider.builder()
                .mcpEndpoint(options.path())
                .nodeLimits(options.limits().node())
                .edgeOptions(edge)
                .store(meters.timed(store))
                .sessionLifecycleListener(meters.sessions())
                .callListener(meters.calls())
                .parkAfter(options.parkAfter())
                .nodeName(options.store().node().name())
                .lease(options.store().node().lease())
                .build();
        meters.watch(provider.engine());
        DemoServer.start(provider);
        return new McpService(new Endpoint(provider, provider::admits, provider.engine(), meters), () -> {});
    }
}

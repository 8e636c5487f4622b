package dev.holdfast.gateway;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.mcp.HoldfastRequest;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.spi.SessionStore;
import jakarta.servlet.http.HttpServlet;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/**
 * What the gateway serves.
 *
 * @param servlet its HTTP side
 * @param guard lets those see further pages whom the HTTP side serves
 * @param engine its sessions
 * @param release lets go of what is left when the sessions have ended; blocks until that is gone
 */
record McpService(HttpServlet servlet, Guard guard, SessionEngine engine, Runnable release) {

    /** So many processes may still be ending beside those of all sessions. */
    private static final int LEAVING = 64;

    /** The server that was asked for, which keeps its sessions in a store that stays its opener's to close. */
    static McpService of(ServeOptions options, StdioOptions child, EdgeOptions edge, SessionStore store) {
        return options.command()
                .map(command -> stdio(options, command, child, edge, store))
                .orElseGet(() -> demo(options, edge, store));
    }

    /** A process for each session. */
    private static McpService stdio(
            ServeOptions options, ServerCommand command, StdioOptions child, EdgeOptions edge, SessionStore store) {
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "holdfast-clock");
            thread.setDaemon(true);
            return thread;
        });
        clock.setRemoveOnCancelPolicy(true);
        StdioBackend backend = new StdioBackend(
                command,
                child,
                Processes.ofThisMachine(),
                options.limits().node().sessions() + LEAVING,
                clock);
        SessionEngine engine = SessionEngine.builder(new HintedBackend(backend), JsonRpc.MESSAGES)
                .scheduler(clock)
                .store(store)
                .parkAfter(options.parkAfter())
                .nodeLimits(options.limits().node())
                .build()
                .start();
        McpServlet servlet = new McpServlet(engine, edge);
        return new McpService(servlet, servlet::admits, engine, () -> {
            backend.close();
            engine.close();
            clock.shutdownNow();
        });
    }

    /** The built-in server. */
    private static McpService demo(ServeOptions options, EdgeOptions edge, SessionStore store) {
        HoldfastTransportProvider provider = HoldfastTransportProvider.builder()
                .mcpEndpoint(options.path())
                .nodeLimits(options.limits().node())
                .edgeOptions(edge)
                .store(store)
                .parkAfter(options.parkAfter())
                .build();
        DemoServer.start(provider, (call, retry) -> HoldfastRequest.of(call).disconnect(retry));
        return new McpService(provider, provider::admits, provider.engine(), () -> {});
    }
}

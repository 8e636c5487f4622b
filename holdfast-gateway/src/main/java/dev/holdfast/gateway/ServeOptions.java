package dev.holdfast.gateway;

import dev.holdfast.Lifetime;
import dev.holdfast.gateway.http.JettyConnectionReset;
import dev.holdfast.gateway.http.JettyPeerWatch;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.upstream.ForwardedHeaders;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What {@code holdfast serve} is asked for.
 *
 * @param host the name or address to listen on
 * @param port the port, 0 for any that is free
 * @param keepAlive how long a connection is kept between two requests
 * @param path the path of the MCP endpoint
 * @param lifetime how long sessions live without a connection
 * @param heartbeat how long a stream may be silent
 * @param retry how long clients wait before they reconnect
 * @param maxConnectionAge when a stream's connection is replaced, zero for never
 * @param httpSse HTTP+SSE beside Streamable HTTP, if it is served
 * @param startTimeout how long a child may take to start
 * @param drainTimeout how long running calls may take when the gateway is told to end
 * @param trust whom it serves
 * @param limits how much it takes
 * @param store where it keeps its sessions
 * @param parkAfter when a session that waits for its client leaves memory
 * @param server the MCP server that is served
 */
record ServeOptions(
        String host,
        int port,
        Duration keepAlive,
        String path,
        Lifetime lifetime,
        Duration heartbeat,
        Duration retry,
        Duration maxConnectionAge,
        Optional<HttpSseOptions> httpSse,
        Duration startTimeout,
        Duration drainTimeout,
        Trust trust,
        Limits limits,
        StoreChoice store,
        Duration parkAfter,
        ServerChoice server) {

    /** All paths of the MCP transports. */
    List<String> paths() {
        return httpSse.map(sse -> List.of(path, sse.path(), sse.messagePath())).orElse(List.of(path));
    }

    /**
     * What of this concerns the edge.
     *
     * @param names host names beside those allowed
     */
    EdgeOptions edge(List<String> names) {
        return EdgeOptions.builder()
                .lifetime(lifetime)
                .heartbeatInterval(heartbeat)
                .retryInterval(retry)
                .maxConnectionAge(maxConnectionAge)
                .allowedHosts(
                        Stream.concat(names.stream(), trust.hosts().stream()).toList())
                .allowedOrigins(trust.origins())
                .maxRequestSize(limits.maxRequestSize())
                .httpSse(httpSse)
                .connectionReset(new JettyConnectionReset())
                .peerWatch(new JettyPeerWatch())
                .context(
                        server instanceof ServerChoice.Upstream upstream ? upstream.forwarded() : ForwardedHeaders.NONE)
                .build();
    }
}

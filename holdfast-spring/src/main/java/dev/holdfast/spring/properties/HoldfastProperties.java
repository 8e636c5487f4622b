package dev.holdfast.spring.properties;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Every knob of Holdfast in a Spring Boot application. An application that is only a client reads their names too, without the modules
 * of the server: no type of theirs occurs here.
 *
 * @param enabled Whether Holdfast takes the place of the MCP server's transport
 * @param mcpEndpoint The path that is served; a pattern is not taken. Default:
 *     spring.ai.mcp.server.streamable-http.mcp-endpoint, else /mcp
 * @param disallowDelete Whether clients may not end their sessions by DELETE. Default:
 *     spring.ai.mcp.server.streamable-http.disallow-delete, else false
 * @param immediateExecution Whether the server is built with immediateExecution(true), so that its handlers run on the threads of
 *     their requests. Default: true for a Spring AI server of type SYNC, else false
 * @param keepAliveInterval How often clients that listen are pinged by JSON-RPC, 1 ms to 36,500 days; 0 for never. Default: that of Spring
 *     AI where it is the server, which is never unless it is set; else 30 minutes
 * @param protocols Which revisions are served: legacy has sessions, modern is 2026-07-28, which has none
 * @param isolation Which requests of a revision without sessions share a connection to the server: none, those
 *     of a principal, or all
 * @param session How long sessions live
 * @param connection How streams are held open
 * @param request Which requests are taken
 * @param history How much is kept for the client of a session
 * @param node What all sessions together may be and hold
 * @param sse HTTP+SSE, for clients of the revision 2024-11-05
 * @param tasks Calls of a revision without sessions that outlive their connections
 * @param store Where sessions are kept
 * @param shutdown How the application ends
 */
@ConfigurationProperties("holdfast")
public record HoldfastProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String mcpEndpoint,
        @Nullable Boolean disallowDelete,
        @Nullable Boolean immediateExecution,
        @Nullable Duration keepAliveInterval,
        @DefaultValue("both") Protocols protocols,
        @DefaultValue("request") Isolation isolation,
        @DefaultValue Session session,
        @DefaultValue Connection connection,
        @DefaultValue Request request,
        @DefaultValue History history,
        @DefaultValue Node node,
        @DefaultValue Sse sse,
        @DefaultValue Tasks tasks,
        @DefaultValue Store store,
        @DefaultValue Shutdown shutdown) {

    /** Which revisions of MCP are served. */
    public enum Protocols {
        /** Those with sessions, up to 2025-11-25. */
        LEGACY,
        /** All. */
        BOTH,
        /** Those without sessions, from 2026-07-28 on. */
        MODERN
    }

    /** Which requests of a revision without sessions share a connection to the server. */
    public enum Isolation {
        /** None. */
        REQUEST,
        /** Those of one principal whose clients declare the same capabilities. */
        PRINCIPAL,
        /** Those of everybody whose clients declare the same capabilities: for a server that keeps nothing for a session. */
        SHARED
    }

    /**
     * How long sessions live.
     *
     * @param reconnectGracePeriod How long a session whose last connection broke waits for its client, 0 and up; 0 closes it
     *     when its last connection breaks
     * @param idleTimeout How long a session waits whose last connection ended in order, 1 ms and up
     * @param responseRetention How long a response is kept though its connection ended in order, 0 and up
     * @param initializationTimeout How long a session waits for the first request that names it, 1 ms and up
     * @param maxCallDuration How long a call may run, 1 ms and up; then its client gets an error
     * @param parkAfter When a session whose last connection broke leaves memory and waits in the store, if that outlives the
     *     process, 10 s to 365 days
     */
    public record Session(
            @DefaultValue("30m") Duration reconnectGracePeriod,
            @DefaultValue("30m") Duration idleTimeout,
            @DefaultValue("60s") Duration responseRetention,
            @DefaultValue("60s") Duration initializationTimeout,
            @DefaultValue("1h") Duration maxCallDuration,
            @DefaultValue("10m") Duration parkAfter) {}

    /**
     * How streams are held open.
     *
     * @param heartbeatInterval How long a stream may be silent before a comment is written on it, 100 ms to 1 h; shorter than the
     *     idle timeout of every hop to the client
     * @param retryInterval What every stream tells its client to wait before it reconnects, 0 to 1 h. Default: 10s where the store
     *     survives the process, so that a client that tries twice outlasts a restart; else 2s
     * @param maxAge After this a connection is ended in order, before a balancer with a limit on total age cuts it; 0 for never,
     *     else at least 1 s
     * @param stallDeadline How long a peer may refuse to take bytes before its connection is ended, 100 ms to 1 h
     */
    public record Connection(
            @DefaultValue("15s") Duration heartbeatInterval,
            @Nullable Duration retryInterval,
            @DefaultValue("0s") Duration maxAge,
            @DefaultValue("30s") Duration stallDeadline) {}

    /**
     * Which requests are taken.
     *
     * @param maxSize Size of a request body, at least 1 byte and less than 2 GB; a larger one is answered 413
     * @param maxTotalSize Memory of all requests, from the first byte of each until its call is answered, at least 1 byte; beyond it, 503.
     *     Default: a quarter of the heap, at least 8 MB
     * @param deadline How long a request body may take to arrive, 100 ms to 1 h; then 408
     * @param allowedHosts Names by which clients may call the server, as name or name:port; * for any. Unlisted, a loopback address
     *     is called by a loopback name, and any other address by that address
     * @param allowedOrigins Pages in browsers that may ask beside the server's own, as scheme://name:port, with :* for any port; *
     *     for any
     */
    public record Request(
            @DefaultValue("4MB") DataSize maxSize,
            @Nullable DataSize maxTotalSize,
            @DefaultValue("30s") Duration deadline,
            @DefaultValue List<String> allowedHosts,
            @DefaultValue List<String> allowedOrigins) {}

    /**
     * How much is kept for the client of a session.
     *
     * @param streamSize Kept messages of a stream, 1 KB to 1 GB
     * @param streamMessages Number of kept messages of a stream, 16 to 1,000,000
     * @param sessionSize Kept messages of a session, 1 KB to 4 GB
     * @param sessionMessages Number of kept messages of a session, 16 to 1,000,000
     * @param finishedStreams Streams that are kept whole after they ended in order, 0 to 1,024
     * @param runningCalls Requests of a session in flight, 1 to 100,000; beyond it, 429
     */
    public record History(
            @DefaultValue("4MB") DataSize streamSize,
            @DefaultValue("4096") int streamMessages,
            @DefaultValue("16MB") DataSize sessionSize,
            @DefaultValue("8192") int sessionMessages,
            @DefaultValue("256") int finishedStreams,
            @DefaultValue("64") int runningCalls) {}

    /**
     * What all sessions together may be and hold.
     *
     * @param maxSessions Sessions in memory, 1 to 10,000,000
     * @param maxPrincipalSessions Sessions of one named principal, on all nodes together that share the store, 1 to 10,000,000
     * @param maxRunningCalls Requests in flight, 1 to 10,000,000
     * @param principalShare Percent of the running calls, the history, a backend's connections and the memory for requests that one named
     *     principal may have, 1 to 100
     * @param historySize Kept messages, at least 1 KB. Default: a quarter of the heap
     * @param historyMessages Number of kept messages, at least 16
     * @param name The name of this node among those that share a store, for people who read logs
     * @param lease How long other nodes that share the store wait for this one when it is silent, 500 ms to 5 min
     */
    public record Node(
            @DefaultValue("10000") int maxSessions,
            @DefaultValue("1000") int maxPrincipalSessions,
            @DefaultValue("10000") int maxRunningCalls,
            @DefaultValue("50") int principalShare,
            @Nullable DataSize historySize,
            @DefaultValue("1000000") long historyMessages,
            @DefaultValue("node") String name,
            @DefaultValue("3s") Duration lease) {}

    /**
     * HTTP+SSE, for clients of the revision 2024-11-05.
     *
     * @param enabled Whether HTTP+SSE is served beside Streamable HTTP; a Spring AI server with protocol SSE, or none named, is
     *     served by Holdfast only with it
     * @param endpoint The path of the GET. Default: spring.ai.mcp.server.sse-endpoint, else /sse
     * @param messageEndpoint The path that clients POST to. Default: spring.ai.mcp.server.sse-message-endpoint, which is
     *     /mcp/message unless it is set, where Spring AI is the server; else /message
     * @param baseUrl What clients put before message-endpoint, a path with the context path in it or a URL. Default:
     *     spring.ai.mcp.server.base-url, else what they have put before the path of the GET
     * @param reconnectGracePeriod How long a session whose connection broke waits for its client, 0 and up; 0 ends it with its GET
     */
    public record Sse(
            @DefaultValue("false") boolean enabled,
            @Nullable String endpoint,
            @Nullable String messageEndpoint,
            @Nullable String baseUrl,
            @DefaultValue("0s") Duration reconnectGracePeriod) {}

    /**
     * Calls of a revision without sessions that outlive their connections.
     *
     * @param after How long a call of a tool runs before its client gets a task in the place of its result, if it takes one, 0 to 1 h
     * @param retention How long a task is kept beyond holdfast.session.max-call-duration, from its call on, 1 s to 36,500 days
     */
    public record Tasks(
            @DefaultValue("5s") Duration after,
            @DefaultValue("1h") Duration retention) {}

    /**
     * Where sessions are kept.
     *
     * @param type Which store is used, unless the application has a SessionStore bean of its own
     * @param rocksdb The store in a folder on disk; needs holdfast-store-rocksdb on the class path
     * @param redis The store in Redis, for many nodes; needs holdfast-store-redis on the class path
     */
    public record Store(
            @DefaultValue("memory") StoreType type,
            @DefaultValue RocksDb rocksdb,
            @DefaultValue Redis redis) {}

    /** Which store is used. */
    public enum StoreType {
        /** In memory: sessions end with the process. */
        MEMORY,
        /** In a folder on disk: sessions survive the process. */
        ROCKSDB,
        /** In Redis: sessions survive the process, and many nodes share them. */
        REDIS
    }

    /**
     * The store in a folder on disk.
     *
     * @param folder Where the store is; one process at a time may have it open
     * @param sync Whether every message waits for the disk, so that it survives power loss
     * @param memory About how much memory RocksDB may take outside of the heap, 1 MB to 64 GB
     * @param sweepInterval How often expired sessions are cleaned away, 10 ms to 1 h
     * @param takeOver Whether sessions in the folder are served though an application of another spring.application.name, or a gateway, has
     *     kept them
     */
    public record RocksDb(
            @DefaultValue("./holdfast-data") Path folder,
            @DefaultValue("false") boolean sync,
            @DefaultValue("64MB") DataSize memory,
            @DefaultValue("1m") Duration sweepInterval,
            @DefaultValue("false") boolean takeOver) {}

    /**
     * The store in Redis.
     *
     * @param url Where Redis is, redis://, rediss://, redis-sentinel:// or redis-cluster://; without it, what spring.data.redis says
     * @param prefix What the names of all keys begin with; services that share a Redis need different ones
     * @param timeout How long Redis may take to answer, 50 ms to 1 min; less than the lease of a node
     * @param takeOver Whether sessions under the prefix are served though an application of another spring.application.name has kept them
     */
    public record Redis(
            @Nullable String url,
            @DefaultValue("holdfast:") String prefix,
            @DefaultValue("2s") Duration timeout,
            @DefaultValue("false") boolean takeOver) {}

    /**
     * How the application ends.
     *
     * @param drainTimeout How long running calls may take after the application was told to end, 0 to 1 h; shorter than
     *     spring.lifecycle.timeout-per-shutdown-phase
     */
    public record Shutdown(@DefaultValue("20s") Duration drainTimeout) {}
}

package dev.holdfast.gateway;

import com.sun.management.OperatingSystemMXBean;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.gateway.http.WatchedEndPoint;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.servlet.Isolation;
import dev.holdfast.servlet.Protocols;
import dev.holdfast.upstream.ForwardedHeaders;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What {@code holdfast serve} is asked for, for one server, checked as a whole.
 *
 * @param name the server's among others; empty where it is the only one
 * @param settings what the command line says, and for one of many what its file says of it
 * @param limits how much all sessions may hold
 * @param httpSse HTTP+SSE beside Streamable HTTP, if it is served
 * @param store where it keeps its sessions
 * @param server the MCP server that is served
 */
record ServeOptions(
        String name,
        KnobValues settings,
        NodeLimits limits,
        Optional<HttpSseOptions> httpSse,
        StoreChoice store,
        ServerChoice server) {
    private static final int FEWEST_CHILDREN = 16;
    private static final int MOST_CHILDREN = 10_000;
    /** A server on Node.js takes some 60 MB when it starts, and half of the memory is left to others. */
    private static final long BYTES_OF_A_CHILD = 128L << 20;

    /**
     * The options.
     *
     * @param command the words behind {@code --}, if that was given
     * @throws IllegalArgumentException says which of them do not go together
     */
    static ServeOptions of(KnobValues settings, Optional<List<String>> command) {
        return of("", settings, ServerChoice.of(settings, command));
    }

    /**
     * The same for a server that is chosen.
     *
     * @param name its name among others; empty where it is the only one
     */
    static ServeOptions of(String name, KnobValues settings, ServerChoice server) {
        StoreChoice store = StoreChoice.of(settings, name);
        if (settings.isGiven(Knobs.FORWARD_HEADER) && store instanceof StoreChoice.Redis) {
            throw new IllegalArgumentException(
                    "--forward-header needs a store of this gateway's own: a request that another"
                            + " gateway passes on through Redis comes without its headers");
        }
        checkTokens(settings);
        if (settings.isGiven(Knobs.TLS_CERT) != settings.isGiven(Knobs.TLS_KEY)) {
            throw new IllegalArgumentException("--tls-cert and --tls-key belong together: give both, or none");
        }
        NodeLimits limits = NodeLimits.DEFAULT
                .withSessions(settings.get(Knobs.MAX_SESSIONS))
                .withPrincipalSessions(settings.get(Knobs.MAX_PRINCIPAL_SESSIONS))
                .withRunningCalls(settings.get(Knobs.MAX_CALLS))
                .withPrincipalShare(settings.get(Knobs.PRINCIPAL_SHARE));
        if (settings.get(Knobs.PROTOCOLS).equals("legacy")) {
            settings.refuse(
                    " needs --protocols both, or modern", Knobs.ISOLATION, Knobs.TASK_AFTER, Knobs.TASK_RETENTION);
        }
        if (settings.isGiven(Knobs.FORWARD_HEADER)) {
            settings.refuse(
                    " is not for --forward-header, with which no request goes on as another: leave one of them out",
                    Knobs.ISOLATION);
        }
        return new ServeOptions(name, settings, limits, httpSse(prefix(name), settings), store, server);
    }

    /** Of which tokens callers are known, if they are. */
    private static void checkTokens(KnobValues settings) {
        boolean oauth = settings.isGiven(Knobs.OAUTH_ISSUER);
        if (oauth) {
            settings.refuse(" does not go with --oauth-issuer: give one of them", Knobs.AUTH_TOKEN_FILE);
            if (settings.get(Knobs.FORWARD_HEADER).stream().anyMatch("Authorization"::equalsIgnoreCase)) {
                throw new IllegalArgumentException("--forward-header must not be Authorization with --oauth-issuer: a"
                        + " token that was made for this server goes to no other");
            }
        } else {
            settings.refuse(" is for --oauth-issuer, which is not given", Knobs.OAUTH_AUDIENCE, Knobs.OAUTH_SCOPE);
        }
        if (oauth || settings.isGiven(Knobs.AUTH_TOKEN_FILE)) {
            settings.refuse(
                    " serves who has no token, and " + (oauth ? Knobs.OAUTH_ISSUER : Knobs.AUTH_TOKEN_FILE).name()
                            + " only who has one: give one of them",
                    Knobs.INSECURE);
        } else {
            settings.refuse(
                    " is for the principals of --auth-token-file or --oauth-issuer, and neither is given",
                    Knobs.MAX_PRINCIPAL_SESSIONS,
                    Knobs.PRINCIPAL_SHARE,
                    Knobs.CONSOLE_OPERATOR);
        }
    }

    private static String prefix(String name) {
        return name.isEmpty() ? "" : "/" + name;
    }

    private static Optional<HttpSseOptions> httpSse(String prefix, KnobValues settings) {
        if (settings.get(Knobs.NO_SSE)) {
            refuseOfSse(settings, " is for HTTP+SSE, which --no-sse switches off");
            return Optional.empty();
        }
        if (settings.get(Knobs.PROTOCOLS).equals("modern")) {
            refuseOfSse(settings, " is for clients with sessions, of which --protocols modern serves none");
            return Optional.empty();
        }
        List<Knob<String>> paths = List.of(Knobs.PATH, Knobs.SSE_PATH, Knobs.MESSAGE_PATH);
        paths.forEach(path -> paths.forEach(end -> {
            if (!path.equals(end) && settings.get(path).endsWith(settings.get(end))) {
                throw new IllegalArgumentException(path.name() + ", which is " + settings.get(path)
                        + ", must not end with " + end.name() + ", which is " + settings.get(end)
                        + ": change one of them, or give --no-sse");
            }
        }));
        return Optional.of(new HttpSseOptions(
                prefix + settings.get(Knobs.SSE_PATH),
                prefix + settings.get(Knobs.MESSAGE_PATH),
                settings.get(Knobs.SSE_RECONNECT_GRACE),
                settings.find(Knobs.BASE_URL).orElse("")));
    }

    private static void refuseOfSse(KnobValues settings, String why) {
        settings.refuse(why, Knobs.SSE_PATH, Knobs.MESSAGE_PATH, Knobs.SSE_RECONNECT_GRACE);
        if (!settings.isGiven(Knobs.OAUTH_ISSUER)) {
            settings.refuse(why, Knobs.BASE_URL);
        }
    }

    <T> T get(Knob<T> knob) {
        return settings.get(knob);
    }

    /** The owner of the sessions in the store: the server of a name keeps them when its command changes. */
    ServerChoice.Identity identity() {
        return name.isEmpty() ? server.identity() : new ServerChoice.Identity(name, List.of(Knobs.CONFIG.name(), name));
    }

    /** Whether a server that runs like this can become one that is asked for like that, while its sessions go on. */
    boolean becomes(ServeOptions next) {
        return server.getClass().equals(next.server.getClass())
                && Knobs.OF_OPEN_SERVER.stream()
                        .allMatch(knob -> settings.find(knob).equals(next.settings.find(knob)));
    }

    /** Where the MCP endpoint is. */
    String path() {
        return prefix(name) + get(Knobs.PATH);
    }

    /** All paths of the MCP transports. */
    List<String> paths() {
        String path = path();
        return httpSse.map(sse -> List.of(path, sse.path(), sse.messagePath())).orElse(List.of(path));
    }

    /** How many child processes there may be at once. */
    int maxChildren() {
        return settings.find(Knobs.MAX_CHILDREN)
                .orElseGet(() -> ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                        ? children(system.getTotalMemorySize())
                        : FEWEST_CHILDREN);
    }

    /** How many child processes a machine, or a container, with so many bytes of memory has room for. */
    static int children(long bytes) {
        return (int) Math.max(FEWEST_CHILDREN, Math.min(MOST_CHILDREN, bytes / BYTES_OF_A_CHILD));
    }

    /**
     * What of this concerns the edge.
     *
     * @param names host names beside those allowed
     * @param forwarded headers of requests that the server gets too
     */
    EdgeOptions edge(List<String> names, ForwardedHeaders forwarded) {
        EdgeOptions.Builder edge = EdgeOptions.builder()
                .lifetime(Lifetime.DEFAULT
                        .withGrace(get(Knobs.RECONNECT_GRACE))
                        .withIdle(get(Knobs.IDLE_TIMEOUT))
                        .withCall(get(Knobs.MAX_CALL_DURATION)))
                .heartbeatInterval(get(Knobs.HEARTBEAT))
                .retryInterval(get(Knobs.RETRY))
                .maxConnectionAge(get(Knobs.MAX_CONNECTION_AGE))
                .protocols(Protocols.valueOf(get(Knobs.PROTOCOLS).toUpperCase(Locale.ROOT)))
                .isolation(
                        settings.isGiven(Knobs.FORWARD_HEADER)
                                ? Isolation.REQUEST
                                : Isolation.valueOf(get(Knobs.ISOLATION).toUpperCase(Locale.ROOT)))
                .taskAfter(get(Knobs.TASK_AFTER))
                .taskRetention(get(Knobs.TASK_RETENTION))
                .allowedHosts(Stream.concat(names.stream(), get(Knobs.ALLOWED_HOST).stream())
                        .toList())
                .allowedOrigins(get(Knobs.ALLOWED_ORIGIN))
                .maxRequestSize(get(Knobs.MAX_REQUEST_SIZE).intValue())
                .httpSse(httpSse)
                .connectionReset(WatchedEndPoint::connectionReset)
                .peerWatch(WatchedEndPoint::watchPeer);
        if (server instanceof ServerChoice.Upstream) {
            edge.context(forwarded);
        }
        return edge.build();
    }
}

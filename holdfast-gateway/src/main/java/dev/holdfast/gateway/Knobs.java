package dev.holdfast.gateway;

import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.gateway.http.IssuerKeys;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.upstream.ForwardedHeaders;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** The table of all knobs of the command line, in the order in which help shows them. */
final class Knobs {
    private static final String YEAR = "8760h";
    private static final String MOST = "10000000";
    private static final Pattern BASE =
            Pattern.compile("(https?://(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(:\\d{1,5})?)?(/[A-Za-z0-9._~-]+)*+");

    /** As RFC 6749 has them; a header names them. */
    private static final Pattern SCOPES = Pattern.compile("(?=.{1,1024}$)[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*+");

    private static final List<Knob<?>> OF_SERVE = new ArrayList<>();

    static final Knob<String> HOST = serve(Knob.text("--host", "HOST", "127.0.0.1", "what to listen on")
            .where(host -> !host.isBlank(), "a name or an address"));

    static final Knob<Integer> PORT =
            serve(Knob.number("--port", "PORT", "8080", "0", "65535", "port to listen on, 0 for any free one"));

    static final Knob<String> PATH = serve(Knob.text("--path", "PATH", "/mcp", "path of the MCP endpoint")
            .takenBy(path -> WebServer.checkPath(path.equals("/") ? "/mcp" : path)));

    static final Knob<Duration> RECONNECT_GRACE = serve(Knob.time(
            "--reconnect-grace",
            Lifetime.DEFAULT.grace(),
            "0",
            YEAR,
            "how long a session waits for its client when the connection broke; 0 ends it at once"));

    static final Knob<Duration> IDLE_TIMEOUT = serve(Knob.time(
            "--idle-timeout",
            Lifetime.DEFAULT.idle(),
            "1ms",
            YEAR,
            "how long a session waits for its client when the connection ended in order"));

    static final Knob<Duration> HEARTBEAT = serve(Knob.time(
            "--heartbeat",
            EdgeOptions.DEFAULT.heartbeatInterval(),
            "100ms",
            "1h",
            "how long a stream is silent before a comment is sent on it"));

    static final Knob<Duration> RETRY = serve(Knob.time(
            "--retry",
            EdgeOptions.DEFAULT.retryInterval(),
            "0",
            "1h",
            "how long clients are told to wait before they reconnect"));

    static final Knob<Duration> MAX_CONNECTION_AGE = serve(Knob.timeOrZero(
            "--max-connection-age",
            EdgeOptions.DEFAULT.maxConnectionAge(),
            "1s",
            YEAR,
            "when a stream's connection is ended in order, before a proxy cuts it; 0 for never"));

    static final Knob<Duration> KEEP_ALIVE = serve(Knob.time(
            "--keep-alive",
            "75s",
            "1s",
            "1h",
            "how long a connection without a request is kept; longer than a proxy in front keeps it"));

    static final Knob<String> PROTOCOLS = serve(Knob.word(
            "--protocols",
            "WHICH",
            "both",
            "which revisions are served: legacy has sessions, modern is 2026-07-28, which has none",
            "legacy",
            "both",
            "modern"));

    static final Knob<String> ISOLATION = serve(Knob.word(
            "--isolation",
            "WHICH",
            "principal",
            "which requests of 2026-07-28 share a process or upstream session: none (request), those of a principal, or all"
                    + " (shared), where the server keeps nothing",
            "request",
            "principal",
            "shared"));

    static final Knob<Duration> TASK_AFTER = serve(Knob.time(
            "--task-after",
            EdgeOptions.DEFAULT.taskAfter(),
            "0",
            "1h",
            "how long a call of a modern client runs before it becomes a task, if that takes tasks"));

    static final Knob<Duration> TASK_RETENTION = serve(Knob.time(
            "--task-retention",
            EdgeOptions.DEFAULT.taskRetention(),
            "1s",
            YEAR,
            "how long a task is kept beyond --max-call-duration, from the beginning of its call"));

    static final Knob<Path> CONFIG = serve(Knob.file(
            "--config",
            "serve many servers, in the place of COMMAND: those of the object mcpServers in this file, each at"
                    + " /NAME/mcp and /NAME/sse; it is read again when it changes"));

    static final Knob<String> UPSTREAM = serve(Knob.text(
            "--upstream",
            "URL",
            "",
            "serve the MCP server at this URL, in the place of COMMAND: Streamable HTTP, or HTTP+SSE if it has nothing"
                    + " else"));

    static final Knob<List<String>> FORWARD_HEADER = serve(Knob.names(
                    "--forward-header",
                    "NAME",
                    "headers of requests that the server at --upstream gets too, such as Authorization; by default"
                            + " none")
            .takenBy(ForwardedHeaders::named));

    static final Knob<String> SSE_PATH =
            serve(Knob.text("--sse-path", "PATH", "/sse", "path of HTTP+SSE, for clients of 2024-11-05")
                    .takenBy(WebServer::checkPath));

    static final Knob<String> MESSAGE_PATH =
            serve(Knob.text("--message-path", "PATH", "/message", "path that clients of HTTP+SSE post to")
                    .takenBy(WebServer::checkPath));

    static final Knob<Duration> SSE_RECONNECT_GRACE = serve(Knob.time(
            "--sse-reconnect-grace",
            HttpSseOptions.DEFAULT.reconnectGrace(),
            "0",
            YEAR,
            "the same as --reconnect-grace, for HTTP+SSE"));

    static final Knob<Boolean> NO_SSE = serve(Knob.toggle("--no-sse", "do not serve HTTP+SSE"));

    static final Knob<String> BASE_URL = serve(Knob.text(
                    "--base-url",
                    "URL",
                    "",
                    "what stands before --message-path where clients of HTTP+SSE are told to post to: the public"
                            + " address of this server behind a proxy that strips a prefix; by default its"
                            + " X-Forwarded-Prefix. With --oauth-issuer, what stands before every path")
            .where(
                    base -> !base.isEmpty() && BASE.matcher(base).matches() && !WebServer.hasDots(base),
                    "as in https://mcp.example/tools or /tools, without '/' at its end"));

    static final Knob<Duration> START_TIMEOUT = serve(Knob.time(
            "--start-timeout",
            "30s",
            "1ms",
            "1h",
            "how long COMMAND, or the server at --upstream, may take to answer initialize"));

    static final Knob<Duration> DRAIN_TIMEOUT = serve(Knob.time(
            "--drain-timeout", "20s", "0", "1h", "how long running calls may take once the gateway is told to end"));

    static final Knob<String> LOG_LEVEL = serve(
            Knob.word("--log-level", "LEVEL", "info", "how much is logged", "error", "warn", "info", "debug", "trace"));

    static final Knob<String> ACCESS_LOG = serve(Knob.word(
            "--access-log",
            "WHAT",
            "",
            "sessions: a line for each session that begins or ends; calls: one for each call too; or off; by default"
                    + " sessions at --log-level info, calls at debug",
            "off",
            "sessions",
            "calls"));

    static final Knob<String> STORE = serve(Knob.text(
            "--store",
            "STORE",
            "rocksdb:./holdfast-data",
            "where sessions are kept: rocksdb:DIR is a folder that one gateway at a time has open, redis://HOST:PORT is"
                    + " shared by many (also rediss, redis-sentinel, redis-cluster), memory ends with the process"));

    static final Knob<Boolean> STORE_SYNC = serve(Knob.toggle(
            "--store-sync", "what is kept on disk survives a power loss too; each message waits for the disk"));

    static final Knob<Boolean> TAKE_OVER_STORE = serve(Knob.toggle(
            "--take-over-store",
            "serve the sessions in the folder, or under the prefix in Redis, of --store though another COMMAND, or one"
                    + " with other arguments, has kept them there"));

    static final Knob<Path> STORE_PASSWORD_FILE = serve(Knob.file(
            "--store-password-file",
            "a file whose first line is the password for --store redis://...: one in the URL is read by everybody who"
                    + " can list the processes of this machine"));

    static final Knob<Path> SENTINEL_PASSWORD_FILE = serve(Knob.file(
            "--sentinel-password-file",
            "a file whose first line is the password of the sentinels of --store redis-sentinel://..., where they have"
                    + " one"));

    static final Knob<String> REDIS_PREFIX = serve(Knob.text(
            "--redis-prefix",
            "TEXT",
            "holdfast:",
            "what the names of all keys in Redis begin with: gateways of the same COMMAND share one, others need"
                    + " another"));

    static final Knob<String> NODE_NAME = serve(Knob.text(
                    "--node-name",
                    "NAME",
                    "",
                    "the name of this gateway among those that share --store redis://..., for those who read logs; by"
                            + " default the name of the host")
            .where(Knobs::isNodeName, "1 to 64 letters, digits, dots, dashes and underscores"));

    static final Knob<Duration> LEASE = serve(Knob.time(
            "--lease",
            "3s",
            "500ms",
            "5m",
            "how long the others that share --store redis://... wait for a silent gateway before they end what it ran;"
                    + " longer than the 2s that Redis may take to answer"));

    static final Knob<Duration> PARK_AFTER = serve(Knob.time(
            "--park-after",
            "10m",
            "10s",
            YEAR,
            "when a session whose connection broke leaves memory, and its process of COMMAND ends; another is started"
                    + " when its client comes back"));

    static final Knob<Path> AUTH_TOKEN_FILE = serve(Knob.file(
            "--auth-token-file",
            "serve only who sends a token of this file, whose lines are a principal and a token each; it is read again"
                    + " when it changes"));

    static final Knob<String> OAUTH_ISSUER = serve(Knob.text(
                    "--oauth-issuer",
                    "URL",
                    "",
                    "serve only who sends an access token, a JWT, of this OAuth authorization server, whose metadata says"
                            + " where its keys are; clients find it by the metadata of this server")
            .where(
                    url -> IssuerKeys.isSafe(url) && url.indexOf('?') < 0,
                    "as in https://login.example/realm, with http on this machine only"));

    static final Knob<List<String>> OAUTH_AUDIENCE = serve(Knob.texts(
            "--oauth-audience",
            "AUDIENCE",
            "for whom a token must be made; may be given more than once; by default the URL of the MCP endpoint, which"
                    + " is told to clients"));

    static final Knob<List<String>> OAUTH_SCOPE = serve(Knob.names(
                    "--oauth-scope", "SCOPE", "scopes, by commas, all of which a token must have; by default none")
            .where(
                    scopes -> scopes.isEmpty()
                            || SCOPES.matcher(String.join(" ", scopes)).matches(),
                    "of printable ASCII without blanks, \" and \\, up to 1024 characters together"));

    static final Knob<Boolean> INSECURE = serve(Knob.toggle(
            "--insecure", "listen on an address that others can reach without --auth-token-file and --oauth-issuer"));

    static final Knob<Path> TLS_CERT = serve(Knob.file(
            "--tls-cert",
            "speak HTTPS, HTTP/2 too, with the certificate in this file in PEM, which is followed by those of its issuers;"
                    + " it is read again when it changes"));

    static final Knob<Path> TLS_KEY =
            serve(Knob.file("--tls-key", "the private key of the certificate in --tls-cert, in PEM and not encrypted"));

    static final Knob<String> CONSOLE = serve(Knob.word(
            "--console",
            "WHERE",
            "",
            "serve a page at /console that shows servers, sessions and streams, and ends sessions; by default on where"
                    + " only this machine can reach it",
            "on",
            "off"));

    static final Knob<List<String>> CONSOLE_OPERATOR = serve(Knob.texts(
            "--console-operator",
            "PRINCIPAL",
            "principals of --auth-token-file or --oauth-issuer who see and end the sessions of all on /console; others see"
                    + " their own; may be given more than once"));

    static final Knob<Boolean> SHOW_CHILD_ERRORS = serve(Knob.toggle(
            "--show-child-errors",
            "tell clients what COMMAND says on its error output when it does not start, also where others than this"
                    + " machine can reach it; the log has it in any case"));

    static final Knob<List<String>> ALLOWED_HOST = serve(Knob.names(
                    "--allowed-host",
                    "NAME",
                    "further names by which clients may call this server, such as that of a reverse proxy, as NAME or"
                            + " NAME:PORT; * for any")
            .takenBy(names -> EdgeOptions.builder().allowedHosts(names)));

    static final Knob<List<String>> ALLOWED_ORIGIN = serve(Knob.names(
                    "--allowed-origin",
                    "ORIGIN",
                    "pages that browsers may call this server from, as https://NAME, http://NAME:PORT or http://NAME:*;"
                            + " * for any")
            .takenBy(origins -> EdgeOptions.builder().allowedOrigins(origins)));

    static final Knob<Integer> MAX_SESSIONS = serve(Knob.number(
            "--max-sessions",
            "N",
            NodeLimits.DEFAULT.sessions(),
            "1",
            MOST,
            "sessions at once; beyond, those that nobody uses make room"));

    static final Knob<Integer> MAX_PRINCIPAL_SESSIONS = serve(Knob.number(
            "--max-principal-sessions",
            "N",
            NodeLimits.DEFAULT.principalSessions(),
            "1",
            MOST,
            "the same for each principal of --auth-token-file or --oauth-issuer, on all nodes that share the store"));

    static final Knob<Integer> PRINCIPAL_SHARE = serve(Knob.number(
            "--principal-share",
            "PERCENT",
            NodeLimits.DEFAULT.principalShare(),
            "1",
            "100",
            "how much of the calls, connections, COMMAND's processes, history and memory for requests one principal of"
                    + " --auth-token-file or --oauth-issuer may have; 100 where there is only one"));

    static final Knob<Integer> MAX_CALLS = serve(
            Knob.number("--max-calls", "N", NodeLimits.DEFAULT.runningCalls(), "1", MOST, "calls that run at once"));

    static final Knob<Integer> MAX_CHILDREN = serve(Knob.number(
            "--max-children",
            "N",
            "",
            "1",
            MOST,
            "processes of COMMAND at once; beyond, that of a session which nobody uses ends, and is started again when"
                    + " the session is used; by default one for each 128 MB of memory, at least 16"));

    static final Knob<Duration> MAX_CALL_DURATION = serve(Knob.time(
            "--max-call-duration",
            Lifetime.DEFAULT.call(),
            "1ms",
            YEAR,
            "how long a call may run; then its client gets an error, and COMMAND is told to stop"));

    static final Knob<Long> MAX_REQUEST_SIZE =
            serve(Knob.size("--max-request-size", "4m", "1", "1g", "size of a request body"));

    static final Knob<Boolean> EXIT_WITH_PARENT = serve(
            Knob.toggle("--exit-with-parent", "end as on SIGTERM when the process that has started this one is gone"));

    static final Knob<List<String>> HEADER = Knob.texts(
            "--header",
            "HEADER",
            "a header for each request, such as 'Authorization: Bearer TOKEN'; may be given more than once");

    static final Knob<Path> HEADER_FILE =
            Knob.file("--header-file", "more headers, one on each line; read again when the server answers 401 or 403");

    static final Knob<Duration> PATIENCE =
            Knob.time("--patience", "2m", "0", YEAR, "for how long a server that cannot be reached is tried again");

    static final Knob<Duration> MAX_SILENCE = Knob.time(
            "--max-silence",
            "0",
            "0",
            YEAR,
            "how long a connection may be silent before it counts as broken; 0: three times the rhythm of the server's"
                    + " heartbeats, 10s at least");

    static final Knob<Duration> FOR = Knob.time(
            "--for",
            "70s",
            "1s",
            "15m",
            "how long streams are watched, to see what cuts them; longer than the limit that is looked for");

    static final Knob<String> TOOL = Knob.text(
            "--tool",
            "NAME",
            "",
            "a harmless tool that may be called up to three times, takes some seconds and tells its progress; by default none is called, but"
                    + " that of the demo");

    static final Knob<String> TOOL_ARGUMENTS =
            Knob.text("--tool-arguments", "JSON", "{}", "what --tool is called with, an object");

    static final Knob<Boolean> JSON = Knob.toggle("--json", "tell what was found as JSON, on one line");

    /** The options of {@code serve}. */
    static final List<Knob<?>> SERVE = List.copyOf(OF_SERVE);

    /** What tells of the store. */
    static final Set<Knob<?>> OF_STORE = Set.of(
            STORE,
            STORE_SYNC,
            TAKE_OVER_STORE,
            STORE_PASSWORD_FILE,
            SENTINEL_PASSWORD_FILE,
            REDIS_PREFIX,
            NODE_NAME,
            LEASE,
            PARK_AFTER);

    /** Those that a server among others has none of its own of: they are the gateway's, or the file says it otherwise. */
    private static final Set<Knob<?>> OF_GATEWAY = Set.of(
            HOST,
            PORT,
            PATH,
            SSE_PATH,
            MESSAGE_PATH,
            KEEP_ALIVE,
            CONFIG,
            UPSTREAM,
            LOG_LEVEL,
            ACCESS_LOG,
            AUTH_TOKEN_FILE,
            OAUTH_ISSUER,
            INSECURE,
            TLS_CERT,
            TLS_KEY,
            CONSOLE,
            CONSOLE_OPERATOR,
            PRINCIPAL_SHARE,
            EXIT_WITH_PARENT);

    /** The options of one server among others, in a file. */
    static final List<Knob<?>> SERVER =
            SERVE.stream().filter(knob -> !OF_GATEWAY.contains(knob)).toList();

    /** Those of them that a server has from its beginning to its end: how long that may take is asked for at the end. */
    static final List<Knob<?>> OF_OPEN_SERVER =
            SERVER.stream().filter(knob -> !knob.equals(DRAIN_TIMEOUT)).toList();

    /** The options of {@code connect}. */
    static final List<Knob<?>> CONNECT =
            List.of(HEADER, HEADER_FILE, PATIENCE, MAX_SILENCE, LOG_LEVEL, EXIT_WITH_PARENT);

    /** The options of {@code doctor}. */
    static final List<Knob<?>> DOCTOR = List.of(HEADER, HEADER_FILE, FOR, TOOL, TOOL_ARGUMENTS, JSON);

    private Knobs() {}

    /** Puts a knob behind those of {@code serve} that are above it. */
    private static <T> Knob<T> serve(Knob<T> knob) {
        OF_SERVE.add(knob);
        return knob;
    }

    /** Whether a node may have this name. */
    static boolean isNodeName(String name) {
        return name.matches("[A-Za-z0-9._-]{1,64}");
    }
}

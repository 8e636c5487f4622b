package dev.holdfast.mcp.client;

import dev.holdfast.client.ClientLimits;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.Requests;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.held.HeldSession;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.backend.McpCoreVersion;
import io.modelcontextprotocol.client.transport.customizer.McpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.client.transport.customizer.McpHttpClientAuthorizationErrorHandler;
import io.modelcontextprotocol.client.transport.customizer.McpHttpClientTransportAuthorizationErrorHandler;
import io.modelcontextprotocol.client.transport.customizer.McpSyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.ProtocolVersions;
import io.modelcontextprotocol.util.Assert;
import io.modelcontextprotocol.util.Utils;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A client's transport over Streamable HTTP that comes back: it takes the place of the SDK's
 * {@code HttpClientStreamableHttpTransport}, whose builder it has.
 *
 * <p>A broken stream is resumed with the id of its last event, and the server's messages come once and in order. A server that is
 * away is waited for, up to the {@linkplain Builder#patience patience}. When the server has lost the session, another one is
 * begun, and what was refused is sent again. A request whose fate is unknown is sent again only if its tool is known from
 * {@code tools/list} to be read-only or idempotent; otherwise it fails with a {@link CallOutcomeUnknownException}.
 *
 * <p>The {@code Mono} of a request completes when its response was handed over, or the request was cancelled. Else it fails: with {@code
 * McpTransportSessionNotFoundException} where the session is gone, {@code McpHttpClientTransportAuthorizationException} on 401 and 403
 * (from mcp-core 1.1 on), {@code McpTransportSessionClosedException} after the close, {@link CallOutcomeUnknownException}, and another
 * exception, mostly {@code McpTransportException}, for all else. Handlers run on threads that all transports share, as many as are needed.
 * Thread-safe; holds no thread of its own, unless {@link Builder#clientBuilder} or {@link Builder#customizeClient} gives it an HTTP client
 * of its own.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP, Streamable HTTP</a>
 */
public final class HoldfastClientTransport implements McpClientTransport {
    /** Which protocol a server is spoken to. */
    public enum Protocol {
        /**
         * Streamable HTTP; HTTP+SSE where the server refuses the first POST with 400, 404 or 405, as the specification
         * describes it. The default.
         */
        AUTOMATIC,
        /** Streamable HTTP only. */
        STREAMABLE_HTTP,
        /** HTTP+SSE of revision 2024-11-05 only; the endpoint is that of its GET. */
        HTTP_SSE
    }

    private final McpJsonMapper json;
    private final List<String> revisions;
    private final boolean listenOnConnect;
    private final HeldSession session;
    private final SdkApplication application;

    private HoldfastClientTransport(Builder builder) {
        this.json = builder.jsonMapper == null ? McpJsonDefaults.getMapper() : builder.jsonMapper;
        this.revisions = builder.supportedProtocolVersions;
        this.listenOnConnect = builder.openConnectionOnStartup;
        RemoteServer server = builder.server();
        this.application =
                new SdkApplication(json, builder.listener, server.uri().toString());
        this.session = new HeldSession(
                server, SessionOpener.Protocol.valueOf(builder.protocol.name()), application::received, application);
    }

    /**
     * A builder with the defaults.
     *
     * @param baseUri the server, for example {@code https://example.com}; the endpoint is {@code /mcp} there
     * @throws IllegalStateException if Holdfast does not work with this version of mcp-core
     */
    public static Builder builder(String baseUri) {
        McpCoreVersion.requireSupported(McpSchema.class);
        return new Builder(baseUri);
    }

    @Override
    public List<String> protocolVersions() {
        return revisions;
    }

    @Override
    public Mono<Void> connect(Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> messages) {
        return Mono.deferContextual(context -> {
            application.onMessages(messages);
            if (listenOnConnect) {
                session.listen(context);
            }
            return Mono.empty();
        });
    }

    @Override
    public void setExceptionHandler(Consumer<Throwable> exceptions) {
        application.onFailures(exceptions);
    }

    @Override
    public Mono<Void> sendMessage(JSONRPCMessage message) {
        return Mono.deferContextual(context -> {
            Envelope envelope = application.write(message);
            return Mono.<Outcome>fromFuture(
                            () -> session.send(envelope, context).toCompletableFuture())
                    .flatMap(application::ended);
        });
    }

    @Override
    public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
        return json.convertValue(data, type);
    }

    @Override
    public Mono<Void> closeGracefully() {
        return Mono.fromFuture(() -> session.close().toCompletableFuture());
    }

    /**
     * Sets what a transport needs to know. The methods that the SDK's builder has too mean the same here. Each throws
     * {@link IllegalArgumentException} if a value is out of its range. For one thread at a time.
     */
    public static final class Builder {
        private final String baseUri;
        private final List<McpAsyncHttpClientRequestCustomizer> customizers = new ArrayList<>();
        private HttpClient.Builder clientBuilder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
        private boolean ownClient;
        private HttpRequest.Builder requestBuilder = HttpRequest.newBuilder();
        private @Nullable McpJsonMapper jsonMapper;
        private String endpoint = "/mcp";
        private boolean openConnectionOnStartup;
        private Requests.AuthorizationHandler authorization = Requests.AuthorizationHandler.NONE;
        private Duration connectTimeout = Duration.ofSeconds(10);
        private List<String> supportedProtocolVersions = List.of(
                ProtocolVersions.MCP_2024_11_05,
                ProtocolVersions.MCP_2025_03_26,
                ProtocolVersions.MCP_2025_06_18,
                ProtocolVersions.MCP_2025_11_25);
        private ClientLimits limits = ClientLimits.DEFAULT;
        private Protocol protocol = Protocol.AUTOMATIC;
        private ClientListener listener = ClientListener.NONE;

        private Builder(String baseUri) {
            if (!speaksHttp(baseUri)) {
                throw new IllegalArgumentException("baseUri must be as in https://example.com");
            }
            this.baseUri = baseUri;
        }

        private static boolean speaksHttp(String baseUri) {
            try {
                URI uri = new URI(baseUri);
                boolean http = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
                return http && uri.getHost() != null;
            } catch (URISyntaxException e) {
                return false;
            }
        }

        private URI at(String path) {
            return Utils.resolveUri(URI.create(baseUri), path);
        }

        /**
         * Makes the HTTP client. Default: one that all transports of the JVM share, over HTTP/1.1. If it is to follow redirects, those are
         * followed that stay within the origin of the server and keep the method: 307 and 308, and for GET 301 to 303 too.
         */
        public Builder clientBuilder(HttpClient.Builder value) {
            Assert.notNull(value, "clientBuilder must not be null");
            clientBuilder = value;
            ownClient = true;
            return this;
        }

        /** Changes the builder of the HTTP client; this transport then has one of its own. */
        public Builder customizeClient(Consumer<HttpClient.Builder> change) {
            Assert.notNull(change, "clientCustomizer must not be null");
            change.accept(clientBuilder);
            ownClient = true;
            return this;
        }

        /** Each HTTP request starts as a copy of this. */
        public Builder requestBuilder(HttpRequest.Builder value) {
            Assert.notNull(value, "requestBuilder must not be null");
            requestBuilder = value;
            return this;
        }

        /** How JSON is read and written. Default: the SDK's default mapper. */
        public Builder jsonMapper(McpJsonMapper value) {
            Assert.notNull(value, "jsonMapper must not be null");
            jsonMapper = value;
            return this;
        }

        /** The endpoint at the server. Default {@code /mcp}. */
        public Builder endpoint(String value) {
            Assert.hasText(value, "endpoint must be a non-empty String");
            at(value);
            endpoint = value;
            return this;
        }

        /** Whether streams are resumed by the ids of their events. Default true. */
        public Builder resumableStreams(boolean value) {
            limits = limits.withResumable(value);
            return this;
        }

        /** Whether {@code connect} opens the listening stream, before there is a session. Default false. */
        public Builder openConnectionOnStartup(boolean value) {
            openConnectionOnStartup = value;
            return this;
        }

        /** Changes each HTTP request before it is sent, in the place of every customizer that was set before. */
        public Builder httpRequestCustomizer(McpSyncHttpClientRequestCustomizer value) {
            Assert.notNull(value, "syncHttpRequestCustomizer must not be null");
            customizers.clear();
            return addHttpRequestCustomizer(value);
        }

        /** Changes each HTTP request before it is sent, in the place of every customizer that was set before. */
        public Builder asyncHttpRequestCustomizer(McpAsyncHttpClientRequestCustomizer value) {
            Assert.notNull(value, "asyncHttpRequestCustomizer must not be null");
            customizers.clear();
            return addAsyncHttpRequestCustomizer(value);
        }

        /** Changes each HTTP request too, after the customizers that were set before. */
        public Builder addHttpRequestCustomizer(McpSyncHttpClientRequestCustomizer value) {
            Assert.notNull(value, "syncHttpRequestCustomizer must not be null");
            return addAsyncHttpRequestCustomizer(McpAsyncHttpClientRequestCustomizer.fromSync(value));
        }

        /** Changes each HTTP request too, after the customizers that were set before. */
        public Builder addAsyncHttpRequestCustomizer(McpAsyncHttpClientRequestCustomizer value) {
            Assert.notNull(value, "asyncHttpRequestCustomizer must not be null");
            customizers.add(value);
            return this;
        }

        /** Changes the list of customizers. */
        public Builder asyncHttpRequestCustomizers(Consumer<List<McpAsyncHttpClientRequestCustomizer>> change) {
            Assert.notNull(change, "customizersConsumer must not be null");
            change.accept(customizers);
            return this;
        }

        /**
         * Is asked what to do when the server answers 401 or 403. Default: the message fails. The type of the handler came with mcp-core
         * 2.0: with 1.1, use {@link #httpAuthorizationErrorHandler}.
         *
         * @param <H> erased to {@link Object}, so that an SDK without the type does not stand in the way of who reflects over this class
         */
        @SuppressWarnings("ExtendsObject") // it is what the type is erased to
        public <H extends Object & McpHttpClientTransportAuthorizationErrorHandler> Builder authorizationErrorHandler(
                H value) {
            Assert.notNull(value, "authorizationErrorHandler must not be null");
            authorization = SdkDifferences.by(value);
            return this;
        }

        /**
         * The same with the handler of mcp-core 1.1, which does not see the request.
         *
         * @param <H> erased to {@link Object}, as above
         * @deprecated as in the SDK from 2.0 on, in favor of {@link #authorizationErrorHandler}
         */
        @Deprecated
        @SuppressWarnings({"ExtendsObject", "removal"}) // it is what the type is erased to
        public <H extends Object & McpHttpClientAuthorizationErrorHandler> Builder httpAuthorizationErrorHandler(
                H value) {
            Assert.notNull(value, "httpAuthorizationErrorHandler must not be null");
            authorization = SdkDifferences.byResponse(value);
            return this;
        }

        /**
         * How long a connection may take to be made, more than zero. Default 10 s. Takes the place of what {@link #clientBuilder} says.
         */
        public Builder connectTimeout(Duration value) {
            Assert.notNull(value, "connectTimeout must not be null");
            Assert.isTrue(
                    !value.isNegative() && !value.isZero(), "connectTimeout must be more than zero, got " + value);
            connectTimeout = value;
            return this;
        }

        /**
         * The protocol revisions that are offered, the newest last. Default: 2024-11-05, which a server over HTTP+SSE has, to
         * 2025-11-25.
         */
        public Builder supportedProtocolVersions(List<String> value) {
            Assert.notEmpty(value, "supportedProtocolVersions must not be empty");
            supportedProtocolVersions = List.copyOf(value);
            return this;
        }

        /** How many bytes a message of the server may have, 1 and up. Default 16 MiB. */
        public Builder maxResponseSize(int value) {
            limits = limits.withMessageBytes(value);
            return this;
        }

        /** For how long a message is tried to be sent, and a broken stream to be resumed, zero and up. Default 2 minutes. */
        public Builder patience(Duration value) {
            limits = limits.withRetryTimeout(value);
            return this;
        }

        /**
         * How many requests may be under way at once, 1 and up; those beyond fail. Default 1,000. Notifications and answers are bounded by
         * their bytes: 32 MiB, or 32 KiB for each of these requests if that is more; each counts as 16 KiB more than it has.
         */
        public Builder maxInFlight(int value) {
            limits = limits.withInFlight(value);
            return this;
        }

        /**
         * How long a connection may be silent before it counts as broken, a wait for the response's head included, zero and up. Default
         * zero: three times the rhythm of this server's heartbeats, at least 10 s, and no limit while it has sent none.
         */
        public Builder maxSilence(Duration value) {
            limits = limits.withSilence(value);
            return this;
        }

        /** Which protocol the server is spoken to. Default {@link Protocol#AUTOMATIC}. */
        public Builder protocol(Protocol value) {
            Assert.notNull(value, "protocol must not be null");
            protocol = value;
            return this;
        }

        /** Hears what happens to the connections. Default: nobody. */
        public Builder listener(ClientListener value) {
            Assert.notNull(value, "listener must not be null");
            listener = value;
            return this;
        }

        /** A transport with what is set. */
        public HoldfastClientTransport build() {
            return new HoldfastClientTransport(this);
        }

        private RemoteServer server() {
            return (ownClient ? serverByOwnClient() : at(SharedResources.http(connectTimeout)))
                    .withLimits(limits)
                    .withRequests(new Requests(
                            requestBuilder,
                            Customizers.of(customizers),
                            authorization,
                            Optional.of(Collections.max(supportedProtocolVersions))));
        }

        private RemoteServer at(HttpClient http) {
            return RemoteServer.at(at(endpoint), http, SharedResources.clock(), SharedResources.delivery());
        }

        /** The client itself follows no redirects: it would take credentials and the id of the session to whatever server one names. */
        private RemoteServer serverByOwnClient() {
            HttpClient wanted = clientBuilder.connectTimeout(connectTimeout).build();
            HttpClient.Redirect policy = wanted.followRedirects();
            if (policy == HttpClient.Redirect.NEVER) {
                return at(wanted);
            }
            HttpClient none =
                    clientBuilder.followRedirects(HttpClient.Redirect.NEVER).build();
            clientBuilder.followRedirects(policy);
            return at(none).withRedirects();
        }
    }
}

package dev.holdfast.gateway.upstream;

import dev.holdfast.client.wire.HttpSender;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.HttpProxy;
import org.eclipse.jetty.client.ProxyAuthenticationProtocolHandler;
import org.eclipse.jetty.client.RedirectProtocolHandler;
import org.eclipse.jetty.client.WWWAuthenticationProtocolHandler;
import org.eclipse.jetty.client.transport.HttpClientTransportOverHTTP;
import org.eclipse.jetty.http.HttpCookieStore;
import org.eclipse.jetty.io.ClientConnector;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.util.thread.ScheduledExecutorScheduler;

/**
 * The HTTP client of the gateway, for one upstream: one pool of connections, TLS by the trust of the JVM, and the proxy that the JVM
 * names. It sends what it is told to and does nothing of its own: no redirects, no cookies, no credentials, no compression.
 */
public final class UpstreamClient implements AutoCloseable {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** So long a connection is kept that carries nothing. */
    private static final Duration IDLE = Duration.ofMinutes(1);

    private static final int MOST_HEADER_BYTES = 64 << 10;
    private static final int MOST_THREADS = 200;

    private final QueuedThreadPool threads;
    private final HttpClient http;

    private UpstreamClient(QueuedThreadPool threads, HttpClient http) {
        this.threads = threads;
        this.http = http;
    }

    /** A client for a server, which is running; the clock stays the caller's. */
    public static UpstreamClient start(URI server, ScheduledExecutorService clock) {
        QueuedThreadPool threads = new QueuedThreadPool(MOST_THREADS);
        threads.setName("holdfast-upstream");
        threads.setDaemon(true);
        ClientConnector connector = new ClientConnector();
        connector.setSslContextFactory(trusting());
        HttpClient http = new HttpClient(new HttpClientTransportOverHTTP(connector));
        http.setExecutor(threads);
        http.setScheduler(new ScheduledExecutorScheduler(clock));
        http.setConnectTimeout(CONNECT_TIMEOUT.toMillis());
        http.setIdleTimeout(IDLE.toMillis());
        http.setMaxRequestHeadersSize(MOST_HEADER_BYTES);
        http.setMaxResponseHeadersSize(MOST_HEADER_BYTES);
        // the engine bounds sessions and their calls; each may have a connection
        http.setMaxConnectionsPerDestination(Integer.MAX_VALUE);
        http.setMaxRequestsQueuedPerDestination(Integer.MAX_VALUE);
        http.setFollowRedirects(false);
        http.setHttpCookieStore(new HttpCookieStore.Empty());
        by(ProxySelector.getDefault(), server, http);
        try {
            http.start();
        } catch (Exception e) {
            throw new IllegalStateException("the client for the upstream does not start", e);
        }
        http.getContentDecoderFactories().clear();
        http.getProtocolHandlers().remove(RedirectProtocolHandler.NAME);
        http.getProtocolHandlers().remove(WWWAuthenticationProtocolHandler.NAME);
        http.getProtocolHandlers().remove(ProxyAuthenticationProtocolHandler.NAME);
        return new UpstreamClient(threads, http);
    }

    private static SslContextFactory.Client trusting() {
        SslContextFactory.Client tls = new SslContextFactory.Client();
        try {
            tls.setSslContext(SSLContext.getDefault());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM has no TLS", e);
        }
        return tls;
    }

    private static void by(ProxySelector proxies, URI server, HttpClient http) {
        Proxy first = proxies.select(server).get(0);
        if (first.type() == Proxy.Type.HTTP && first.address() instanceof InetSocketAddress proxy) {
            http.getProxyConfiguration().addProxy(new HttpProxy(proxy.getHostString(), proxy.getPort()));
        }
    }

    HttpSender sender() {
        return new JettySender(http);
    }

    /** Threads of its own; they are for what does not block. */
    Executor threads() {
        return threads;
    }

    /** Breaks what is on its way. */
    @Override
    public void close() {
        try {
            http.stop();
        } catch (Exception e) {
            throw new IllegalStateException("the client for the upstream does not stop", e);
        }
    }
}

package dev.holdfast.upstream;

import dev.holdfast.client.wire.HttpSender;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
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
 * Jetty's client, for one upstream, with the proxy that the JVM names. It sends what it is told to and does nothing of its own: no redirects,
 * no cookies, no credentials, no compression.
 */
record JettyClient(HttpClient http, Executor threads) implements UpstreamClient {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** So long a connection is kept that carries nothing. */
    private static final Duration IDLE = Duration.ofMinutes(1);

    private static final int MOST_HEADER_BYTES = 64 << 10;
    private static final int MOST_THREADS = 200;

    /** A client for a server, which is running; the clock stays the caller's. */
    static JettyClient start(URI server, ScheduledExecutorService clock, SSLContext tls) {
        QueuedThreadPool threads = new QueuedThreadPool(MOST_THREADS);
        threads.setName("holdfast-upstream");
        threads.setDaemon(true);
        ClientConnector connector = new ClientConnector();
        SslContextFactory.Client trust = new SslContextFactory.Client();
        trust.setSslContext(tls);
        connector.setSslContextFactory(trust);
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
        return new JettyClient(http, threads);
    }

    private static void by(ProxySelector proxies, URI server, HttpClient http) {
        Proxy first = proxies.select(server).get(0);
        if (first.type() == Proxy.Type.HTTP && first.address() instanceof InetSocketAddress proxy) {
            http.getProxyConfiguration().addProxy(new HttpProxy(proxy.getHostString(), proxy.getPort()));
        }
    }

    @Override
    public HttpSender sender() {
        return new JettySender(http);
    }

    @Override
    public void close() {
        try {
            http.stop();
        } catch (Exception e) {
            throw new IllegalStateException("the client for the upstream does not stop", e);
        }
    }
}

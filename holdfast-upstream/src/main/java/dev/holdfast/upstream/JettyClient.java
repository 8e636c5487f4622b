package dev.holdfast.upstream;

import dev.holdfast.client.wire.MarkedBody;
import java.io.EOFException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient.Version;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.HttpProxy;
import org.eclipse.jetty.client.Origin;
import org.eclipse.jetty.client.ProxyAuthenticationProtocolHandler;
import org.eclipse.jetty.client.ProxyConfiguration;
import org.eclipse.jetty.client.RedirectProtocolHandler;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.client.Response;
import org.eclipse.jetty.client.Result;
import org.eclipse.jetty.client.WWWAuthenticationProtocolHandler;
import org.eclipse.jetty.client.transport.HttpClientTransportOverHTTP;
import org.eclipse.jetty.http.HttpCookieStore;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.io.ClientConnector;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.util.thread.ScheduledExecutorScheduler;
import org.jspecify.annotations.Nullable;

/**
 * Jetty's client, for one upstream, with the proxy that the JVM names. It sends what it is told to and does nothing of its own: no
 * redirects, no cookies, no credentials, no compression.
 */
record JettyClient(HttpClient http, Executor threads) implements UpstreamHttp.Client {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** How long an unused connection is kept. */
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
        JettyClient client = new JettyClient(http, threads);
        client.reaches(server);
        try {
            http.start();
        } catch (Exception e) {
            throw new IllegalStateException("the client for the upstream does not start", e);
        }
        http.getContentDecoderFactories().clear();
        http.getProtocolHandlers().remove(RedirectProtocolHandler.NAME);
        http.getProtocolHandlers().remove(WWWAuthenticationProtocolHandler.NAME);
        http.getProtocolHandlers().remove(ProxyAuthenticationProtocolHandler.NAME);
        return client;
    }

    @Override
    public void reaches(URI server) {
        Proxy first = ProxySelector.getDefault().select(server).get(0);
        ProxyConfiguration proxies = http.getProxyConfiguration();
        boolean known = proxies.getProxies().stream().anyMatch(each -> ((ProxyOf) each).host.equals(server.getHost()));
        if (!known && first.type() == Proxy.Type.HTTP && first.address() instanceof InetSocketAddress proxy) {
            proxies.addProxy(new ProxyOf(proxy, server.getHost()));
        }
    }

    /** The proxy for one host. */
    private static final class ProxyOf extends HttpProxy {
        private final String host;

        private ProxyOf(InetSocketAddress proxy, String host) {
            super(proxy.getHostString(), proxy.getPort());
            this.host = host;
        }

        @Override
        public boolean matches(Origin origin) {
            return origin.getAddress().getHost().equalsIgnoreCase(host);
        }
    }

    /** A request goes out in one write, and the thread that reads an answer passes it on. */
    @Override
    public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
        Request sent = http.newRequest(request.uri())
                .method(request.method())
                // streams that last stay out of the pool in which calls look for a connection
                .tag(request.method())
                .headers(headers -> request.headers().map().forEach((name, values) -> {
                    headers.remove(name);
                    values.forEach(value -> headers.add(name, value));
                }))
                // a stream may be silent for long; the limit of the client is for connections that carry nothing
                .idleTimeout(0, TimeUnit.MILLISECONDS);
        request.bodyPublisher().ifPresent(body -> sent.body(new Body((MarkedBody) body)));
        Answer taken = new Answer(sent, answer);
        CompletableFuture<?> end = taken.end();
        end.whenComplete((nothing, failure) -> {
            if (failure instanceof CancellationException) {
                sent.abort(failure);
            }
        });
        sent.onResponseContentSource(taken::begin).send(taken::ended);
        return end;
    }

    @Override
    public void close() {
        try {
            http.stop();
        } catch (Exception e) {
            throw new IllegalStateException("the client for the upstream does not stop", e);
        }
    }

    /**
     * The body of a request, in one part: it is written together with the head. It counts as sent from the moment when a connection takes
     * it, unless that one's first write or its TLS handshake fails: then none of it has left.
     */
    private static final class Body implements Request.Content {
        private final MarkedBody body;
        private final ByteBuffer bytes;
        private volatile @Nullable Thread writer;

        Body(MarkedBody body) {
            this.body = body;
            this.bytes = ByteBuffer.wrap(body.bytes());
        }

        @Override
        public long getLength() {
            return body.contentLength();
        }

        @Override
        public Content.Chunk read() {
            if (writer != null) {
                return Content.Chunk.EOF;
            }
            writer = Thread.currentThread();
            body.mark(true);
            return Content.Chunk.from(bytes, true);
        }

        @Override
        public void demand(Runnable demandCallback) {
            demandCallback.run();
        }

        @Override
        public void fail(Throwable failure) {
            // on the thread that writes it is certain that nothing is being written meanwhile
            boolean refused = writer == Thread.currentThread() && bytes.position() == 0;
            if (refused || failure instanceof SSLHandshakeException) {
                body.mark(false);
            }
        }
    }

    /** An answer on its way to who takes it: read as far as that one asks for it, by one thread at a time. */
    private static final class Answer implements Flow.Subscription {
        private final Request request;
        private final BodyHandler<?> handler;
        private final CompletableFuture<@Nullable Void> end = new CompletableFuture<>();
        /** How many parts are requested. Above zero there is a demand, or a thread reads. */
        private final AtomicLong wanted = new AtomicLong();

        private volatile @Nullable BodySubscriber<?> taker;
        private volatile Content.@Nullable Source source;

        private record Head(int statusCode, HttpHeaders headers) implements ResponseInfo {
            @Override
            public Version version() {
                return Version.HTTP_1_1;
            }

            private static Head of(Response response) {
                Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
                for (HttpField field : response.getHeaders()) {
                    headers.computeIfAbsent(field.getName(), name -> new ArrayList<>(1))
                            .add(Objects.requireNonNullElse(field.getValue(), ""));
                }
                return new Head(response.getStatus(), HttpHeaders.of(headers, (name, value) -> true));
            }
        }

        Answer(Request request, BodyHandler<?> handler) {
            this.request = request;
            this.handler = handler;
        }

        /** Completes once the whole answer was taken. */
        CompletableFuture<@Nullable Void> end() {
            return end;
        }

        /** The head has come. */
        void begin(Response response, Content.Source body) {
            source = body;
            BodySubscriber<?> taking = handler.apply(Head.of(response));
            taker = taking;
            taking.onSubscribe(this);
        }

        @Override
        public void request(long parts) {
            Content.Source body = source;
            if (wanted.getAndAccumulate(parts, Answer::sum) == 0 && body != null) {
                body.demand(this::read);
            }
        }

        private static long sum(long left, long more) {
            return left + more < 0 ? Long.MAX_VALUE : left + more;
        }

        private void read() {
            Content.Source body = Objects.requireNonNull(source);
            BodySubscriber<?> taking = Objects.requireNonNull(taker);
            boolean goOn = true;
            while (goOn) {
                Content.Chunk chunk = body.read();
                if (chunk == null) {
                    body.demand(this::read);
                    return;
                }
                goOn = take(chunk, taking);
            }
        }

        /** Passes a part on; false if the next one is not to be read yet, or there is none. */
        private boolean take(Content.Chunk chunk, BodySubscriber<?> taking) {
            if (Content.Chunk.isFailure(chunk)) {
                taking.onError(chunk.getFailure());
                return false;
            }
            boolean last = chunk.isLast();
            boolean some = chunk.hasRemaining();
            try {
                if (some) {
                    taking.onNext(List.of(chunk.getByteBuffer()));
                }
            } finally {
                chunk.release();
            }
            if (last) {
                taking.onComplete();
            }
            return !last && (!some || wanted.decrementAndGet() > 0);
        }

        @Override
        public void cancel() {
            request.abort(new CancellationException("not wanted any more"));
        }

        /** Nothing more comes. */
        void ended(Result result) {
            BodySubscriber<?> taking = taker;
            Throwable failure = result.getFailure();
            if (taking == null) {
                end.completeExceptionally(failure == null ? new EOFException("there is no answer") : failure);
                return;
            }
            if (failure != null) {
                taking.onError(failure);
            }
            taking.getBody().whenComplete((taken, broken) -> {
                if (broken == null) {
                    end.complete(null);
                } else {
                    end.completeExceptionally(broken);
                }
            });
        }
    }
}

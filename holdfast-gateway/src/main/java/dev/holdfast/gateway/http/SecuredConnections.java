package dev.holdfast.gateway.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.FillInterest;
import org.eclipse.jetty.io.WindowRateControl;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.io.ssl.SslHandshakeListener;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.DetectorConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Makes connections of TLS whose clear text a {@link ConnectionWatch} sees. */
final class SecuredConnections extends SslConnectionFactory {
    private static final String ALPN = "alpn";
    private static final String HTTP_2 = "h2";
    /**
     * Requests at once on one connection of HTTP/2, most of them streams that wait; and how many it may reset, or other frames it may send
     * that cost more to read than to send, within a second: a proxy in front may lose all its clients at once.
     */
    private static final int STREAMS = 256;

    private SecuredConnections(SslContextFactory.Server context) {
        super(context, ALPN);
    }

    /**
     * What a port with a certificate speaks: TLS, and in it HTTP/2 or HTTP/1.1, as the client wishes.
     *
     * @param plain HTTP/1.1, also without TLS: so that somebody can tell such a client what is wrong
     */
    static ConnectionFactory[] protocols(
            SslContextFactory.Server context, HttpConfiguration http, HttpConnectionFactory plain) {
        // which names this server has is for the guard of the endpoint to say, and a probe may know its address alone
        http.addCustomizer(new SecureRequestCustomizer(false));
        HTTP2ServerConnectionFactory multiplexed = new HTTP2ServerConnectionFactory(http);
        multiplexed.setMaxConcurrentStreams(STREAMS);
        multiplexed.setRateControlFactory(new WindowRateControl.Factory(STREAMS));
        multiplexed.setConnectProtocolEnabled(false);
        ALPNServerConnectionFactory choice = new ALPNServerConnectionFactory(HTTP_2, plain.getProtocol());
        choice.setDefaultProtocol(plain.getProtocol());
        return new ConnectionFactory[] {
            new DetectorConnectionFactory(new SecuredConnections(context)), plain, choice, multiplexed
        };
    }

    @Override
    protected SslConnection newSslConnection(Connector connector, EndPoint socket, SSLEngine engine) {
        return new Secured(connector, getSslContextFactory(), socket, engine);
    }

    private static final class Secured extends SslConnection {
        private Secured(Connector connector, SslContextFactory context, EndPoint socket, SSLEngine engine) {
            super(connector.getByteBufferPool(), connector.getExecutor(), context, socket, engine);
            if (socket instanceof WatchedEndPoint watched && getSslEndPoint() instanceof ClearText text) {
                addHandshakeListener(new SslHandshakeListener() {
                    @Override
                    public void handshakeSucceeded(Event event) {
                        watched.securedBy(text.watch);
                    }
                });
            }
        }

        @Override
        protected SslEndPoint newSslEndPoint() {
            return new ClearText();
        }

        private final class ClearText extends SslEndPoint implements ConnectionWatch.Watched {
            private final ConnectionWatch watch = new ConnectionWatch(new ConnectionWatch.Source() {
                @Override
                public int fill(ByteBuffer buffer) throws IOException {
                    return ClearText.super.fill(buffer);
                }

                @Override
                public void fillInterested(Callback callback) {
                    ClearText.super.fillInterested(callback);
                }

                @Override
                public boolean tryFillInterested(Callback callback) {
                    return ClearText.super.tryFillInterested(callback);
                }

                @Override
                public FillInterest interest() {
                    return getFillInterest();
                }
            });

            @Override
            public ConnectionWatch watch() {
                return watch;
            }

            @Override
            public int fill(ByteBuffer buffer) throws IOException {
                return watch.fill(buffer);
            }

            @Override
            public void fillInterested(Callback callback) {
                watch.fillInterested(callback);
            }

            @Override
            public boolean tryFillInterested(Callback callback) {
                return watch.tryFillInterested(callback);
            }

            @Override
            public boolean isFillInterested() {
                return watch.isFillInterested();
            }
        }
    }
}

package dev.holdfast.gateway.http;

import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A connector whose connections can be {@linkplain WatchedEndPoint watched}. */
final class WatchingConnector extends ServerConnector {
    WatchingConnector(Server server, ConnectionFactory protocol) {
        super(server, protocol);
    }

    @Override
    protected SocketChannelEndPoint newEndPoint(SocketChannel channel, ManagedSelector selector, SelectionKey key) {
        WatchedEndPoint connection = new WatchedEndPoint(channel, selector, key, getScheduler());
        connection.setIdleTimeout(getIdleTimeout());
        return connection;
    }
}

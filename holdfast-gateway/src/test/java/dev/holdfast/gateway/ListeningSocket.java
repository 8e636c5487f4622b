package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;

/** The GET of a client that listens, as a socket of its own. */
final class ListeningSocket implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader in;

    ListeningSocket(HttpPeer peer) {
        this(peer, "");
    }

    /** One that asks for what came after an event. */
    static ListeningSocket after(HttpPeer peer, String event) {
        return new ListeningSocket(peer, "Last-Event-ID: " + event + "\r\n");
    }

    private ListeningSocket(HttpPeer peer, String header) {
        try {
            socket = new Socket(InetAddress.getLoopbackAddress(), peer.url().getPort());
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
            send("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: "
                    + peer.session() + "\r\n" + header + "\r\n");
            assertThat(in.readLine()).isEqualTo("HTTP/1.1 200 OK");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void send(String text) {
        try {
            socket.getOutputStream().write(text.getBytes(US_ASCII));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads until a line that begins so, and returns it. */
    String readUntil(String begin) {
        try {
            String line = in.readLine();
            while (line != null && !line.startsWith(begin)) {
                line = in.readLine();
            }
            assertThat(line).isNotNull().startsWith(begin);
            return String.valueOf(line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends the connection by FIN: everything that has come was read. */
    @Override
    public void close() {
        try {
            while (socket.getInputStream().available() > 0) {
                socket.getInputStream().skipNBytes(socket.getInputStream().available());
            }
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

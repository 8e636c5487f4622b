package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** A client with bad manners: it breaks its connection in the middle, comes back or not, and seldom deletes a session. */
public final class SoakClient implements AutoCloseable {
    private static final int PATIENCE_MILLIS = 20_000;
    private static final String ID = "id: ";
    private static final String DATA = "data: ";

    private final Target target;
    private final SoakTally tally;
    private final String session;
    private Socket socket = new Socket();
    private BufferedReader in = new BufferedReader(new InputStreamReader(java.io.InputStream.nullInputStream(), UTF_8));
    private String lastEventId = "";

    private SoakClient(Target target, SoakTally tally, String session) {
        this.target = target;
        this.tally = tally;
        this.session = session;
        tally.sessions.increment();
    }

    private static boolean chance(double share) {
        return ThreadLocalRandom.current().nextDouble() < share;
    }

    /** Calls echo; now and then it drops the connection of a call, and resumes it. */
    public static void calls(Target target, SoakTally tally, AtomicBoolean over) throws InterruptedException {
        while (!over.get()) {
            try (SoakClient client = new SoakClient(target, tally, target.open())) {
                for (int i = 1; i < 2_000 && !over.get() && !chance(0.001); i++) {
                    client.call(i);
                }
                if (chance(0.3)) {
                    target.delete(client.session);
                }
            } catch (IOException | RuntimeException e) {
                tally.failed(e);
            }
        }
    }

    private void call(int id) throws IOException {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":" + id
                + ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hello\"}}}";
        if (!socket.isConnected()) {
            connect();
        }
        post("/mcp", body);
        if (chance(0.005)) {
            drop();
            return;
        }
        String answer = skipHead();
        if (!answer.contains("200")) {
            throw new IOException("a call was answered " + answer);
        }
        if (chance(0.01)) {
            lastEventId = id(in.readLine());
            drop();
            if (!lastEventId.isEmpty()) {
                resume();
            }
            return;
        }
        // to the end of the message, and of its frame; what is left of the chunk comes before the next head
        for (String line = need(); !line.startsWith(DATA + "{"); line = need()) {
            lastEventId = line.startsWith(ID) ? line.substring(ID.length()) : lastEventId;
        }
        tally.calls.increment();
    }

    private static String id(@org.jspecify.annotations.Nullable String line) {
        return line != null && line.startsWith(ID) ? line.substring(ID.length()) : "";
    }

    private void resume() throws IOException {
        tally.resumes.increment();
        connect();
        get("/mcp");
        skipHead();
        drop();
    }

    /** Listens, breaks off after a while, and comes back to where it was. */
    public static void listens(Target target, SoakTally tally, AtomicBoolean over) throws InterruptedException {
        while (!over.get()) {
            try (SoakClient client = new SoakClient(target, tally, target.open())) {
                while (!over.get() && !chance(0.1)) {
                    client.connect();
                    client.get("/mcp");
                    client.read(ThreadLocalRandom.current().nextInt(100, 5_000));
                    client.drop();
                    tally.resumes.increment();
                }
            } catch (IOException | RuntimeException e) {
                tally.failed(e);
            }
        }
    }

    /** The same over HTTP+SSE, with calls in between. */
    public static void converses(Target target, SoakTally tally, AtomicBoolean over) throws InterruptedException {
        while (!over.get()) {
            try (HttpSseClient client = new HttpSseClient(target)) {
                tally.sessions.increment();
                while (!over.get() && !chance(0.005)) {
                    client.echo();
                    tally.calls.increment();
                }
                tally.drops.increment();
            } catch (IOException | RuntimeException e) {
                tally.failed(e);
            }
        }
    }

    private void read(int millis) throws IOException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        socket.setSoTimeout(500);
        try {
            while (System.nanoTime() - end < 0) {
                String line = need();
                if (line.startsWith(ID)) {
                    lastEventId = line.substring(ID.length());
                } else if (line.startsWith(DATA + "{")) {
                    tally.messages.increment();
                }
            }
        } catch (SocketTimeoutException e) {
            // nothing is sent at the end of a minute
        }
    }

    private String need() throws IOException {
        String line = in.readLine();
        if (line == null) {
            throw new IOException("the server closed the connection");
        }
        return line;
    }

    /** Reads up to the first head; returns its status line. */
    private String skipHead() throws IOException {
        String status = need();
        while (!status.startsWith("HTTP/1.1 ")) {
            status = need();
        }
        for (String line = need(); !line.isEmpty(); line = need()) {
            // what they say is known
        }
        return status;
    }

    private void connect() throws IOException {
        socket.close();
        socket = new Socket(target.address().getAddress(), target.port());
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(PATIENCE_MILLIS);
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
    }

    private void post(String path, String body) throws IOException {
        write("POST " + path + " HTTP/1.1\r\nAccept: application/json, text/event-stream\r\n"
                + "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n" + common() + body);
    }

    private void get(String path) throws IOException {
        String resumed = lastEventId.isEmpty() ? "" : "Last-Event-ID: " + lastEventId + "\r\n";
        write("GET " + path + " HTTP/1.1\r\nAccept: text/event-stream\r\n" + resumed + common());
    }

    private String common() {
        return "Host: 127.0.0.1:" + target.port() + "\r\nMcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: "
                + Target.REVISION + "\r\n\r\n";
    }

    private void write(String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(US_ASCII));
    }

    /** By FIN or by RST. */
    private void drop() throws IOException {
        tally.drops.increment();
        if (chance(0.5)) {
            socket.setSoLinger(true, 0);
        }
        socket.close();
        socket = new Socket();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}

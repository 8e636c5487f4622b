package dev.holdfast.it;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A server for all tests of a class in one container, with one session that they share. */
final class SharedServer {
    private @Nullable TestServer server;
    private @Nullable RawSession session;

    void start(TestServer.Builder builder) throws Exception {
        server = builder.start();
        session = RawSession.open(port());
    }

    void stop() throws Exception {
        server().close();
    }

    int port() {
        return server().port();
    }

    RawSession session() {
        return Objects.requireNonNull(session, "not started");
    }

    TestServer server() {
        return Objects.requireNonNull(server, "not started");
    }
}

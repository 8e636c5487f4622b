package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The reference server for the tests of one class. */
final class EverythingServer implements BeforeAllCallback, AfterAllCallback {
    private @Nullable NodeServer server;

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        server = NodeServer.everything();
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        if (server != null) {
            server.close();
        }
    }

    /** A transport to it. */
    HoldfastClientTransport transport() {
        if (server == null) {
            throw new IllegalStateException("the server is not started");
        }
        return HoldfastClientTransport.builder("http://127.0.0.1:" + server.port())
                .build();
    }
}

package dev.holdfast.it;

import io.modelcontextprotocol.server.McpAsyncServer;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.time.Duration;

/**
 * The SDK's server with more time for requests than its tests give it: in some, the answer takes two of four seconds, and fails where
 * the machine stands still for the other two. A timeout of one second stays, since the tests wait for it to pass.
 */
final class PatientServer {
    private static final int PATIENCE = 4;

    private PatientServer() {}

    private static Duration patient(Duration timeout) {
        return timeout.toSeconds() > 1 ? timeout.multipliedBy(PATIENCE) : timeout;
    }

    /** A server of Streamable HTTP. */
    static McpServer.AsyncSpecification<?> of(McpStreamableServerTransportProvider transport) {
        return new McpServer.StreamableServerAsyncSpecification(transport) {
            @Override
            public McpServer.AsyncSpecification<McpServer.StreamableServerAsyncSpecification> requestTimeout(
                    Duration timeout) {
                return super.requestTimeout(patient(timeout));
            }
        };
    }

    /** A server of any kind, for tests that set no more than what is overridden here. */
    static McpServer.AsyncSpecification<?> of(McpServer.AsyncSpecification<?> server) {
        return new Delegate(server);
    }

    private static final class Delegate extends McpServer.AsyncSpecification<Delegate> {
        private final McpServer.AsyncSpecification<?> server;

        Delegate(McpServer.AsyncSpecification<?> server) {
            this.server = server;
        }

        @Override
        public Delegate serverInfo(String name, String version) {
            server.serverInfo(name, version);
            return this;
        }

        @Override
        public Delegate capabilities(McpSchema.ServerCapabilities capabilities) {
            server.capabilities(capabilities);
            return this;
        }

        @Override
        public Delegate tools(McpServerFeatures.AsyncToolSpecification... tools) {
            server.tools(tools);
            return this;
        }

        @Override
        public Delegate requestTimeout(Duration timeout) {
            server.requestTimeout(patient(timeout));
            return this;
        }

        @Override
        public McpAsyncServer build() {
            return server.build();
        }
    }
}

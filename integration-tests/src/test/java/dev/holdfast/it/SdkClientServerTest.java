package dev.holdfast.it;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.AbstractMcpClientServerIntegrationTests;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpServerTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;

/** The SDK's own test of its client against its server, with Holdfast between them. */
@Tag("sdk2")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class SdkClientServerTest extends AbstractMcpClientServerIntegrationTests {
    /** The name under which the inherited tests look for a client. */
    private static final String CLIENT = "httpclient";

    private static OutsideWorld outside;

    private final Container container;
    private final McpServerTransportProviderBase transport =
            transport(request -> McpTransportContext.create(Map.of("important", "value")));

    SdkClientServerTest(ContainerKind kind) {
        this.container = kind.create(40, Duration.ofSeconds(20));
    }

    /** The transport under test, pinging often. */
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return HoldfastTransportProvider.builder()
                .contextExtractor(extractor)
                .keepAliveInterval(Duration.ofSeconds(1))
                .build();
    }

    /** What stands in front of it. */
    List<Filter> filters() {
        return List.of();
    }

    /** The transport of a client, to a server at a port. */
    McpClientTransport clientTransport(int port) {
        return HttpClientStreamableHttpTransport.builder("http://localhost:" + port)
                .endpoint("/mcp")
                .build();
    }

    static Stream<Arguments> clientsForTesting() {
        return Stream.of(Arguments.of(CLIENT));
    }

    @BeforeAll
    static void openTheWorld() throws Exception {
        outside = new OutsideWorld();
    }

    @AfterAll
    static void closeTheWorld() throws Exception {
        outside.close();
    }

    @BeforeEach
    void start() throws Exception {
        container.start((HttpServlet) transport, filters());
        prepareClients(container.port(), "/mcp");
    }

    @AfterEach
    void stop() throws Exception {
        transport.closeGracefully().block(Duration.ofSeconds(10));
        container.stop();
    }

    @Override
    protected void prepareClients(int port, String mcpEndpoint) {
        clientBuilders.put(CLIENT, McpClient.sync(clientTransport(port)).requestTimeout(Duration.ofHours(10)));
    }

    @Override
    protected McpServer.AsyncSpecification<?> prepareAsyncServerBuilder() {
        return transport instanceof McpServerTransportProvider httpSse
                ? PatientServer.of(McpServer.async(httpSse))
                : PatientServer.of((McpStreamableServerTransportProvider) transport);
    }

    @Override
    protected McpServer.SyncSpecification<?> prepareSyncServerBuilder() {
        return transport instanceof McpServerTransportProvider httpSse
                ? McpServer.sync(httpSse)
                : McpServer.sync((McpStreamableServerTransportProvider) transport);
    }
}

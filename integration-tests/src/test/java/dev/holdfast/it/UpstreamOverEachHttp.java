package dev.holdfast.it;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.upstream.UpstreamBackend;
import dev.holdfast.upstream.UpstreamBackendBuilder;
import dev.holdfast.upstream.UpstreamHttp;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Tests of a plain Java application in front of a server, over each HTTP client, with tools that wait for the test. */
@ParameterizedClass
@MethodSource("clients")
abstract class UpstreamOverEachHttp {
    @AutoClose
    final OpenResources open = new OpenResources();

    /** The tools that were called, in order. */
    final List<String> executed = new CopyOnWriteArrayList<>();
    /** Lets the tools answer that wait, at the latest behind the test. */
    final Sinks.Empty<Void> end = Sinks.empty();

    private final UpstreamHttp http;

    UpstreamOverEachHttp(UpstreamHttp http) {
        this.http = http;
    }

    static Stream<Named<UpstreamHttp>> clients() {
        return Stream.of(Named.of("JDK", UpstreamHttp.jdk()), Named.of("Jetty", UpstreamHttp.jetty()));
    }

    @AfterEach
    void nothingWaits() {
        end.tryEmitEmpty();
    }

    /** Says nothing, and waits for the test. */
    private Mono<String> quiet(McpAsyncServerExchange exchange, CallToolRequest request) {
        executed.add("quiet");
        return end.asMono().thenReturn("done");
    }

    /** A server of the SDK with the tools {@code echo} and {@code quiet}. */
    OfficialServer official() throws Exception {
        return open.add(OfficialServer.start(Tools.echo(), Tools.tool("quiet", this::quiet)));
    }

    /** What leads to a port, and can be cut. */
    CuttingProxy leg(int port) throws Exception {
        return open.add(CuttingProxy.to(port));
    }

    UpstreamBackendBuilder backend(URI url) {
        return UpstreamBackend.builder(url).http(http);
    }

    /** An application that serves a backend. */
    UpstreamFront front(UpstreamBackendBuilder backend, EdgeOptions edge) {
        return open.add(new UpstreamFront(ContainerKind.JETTY, backend.open(), edge));
    }

    UpstreamFront front(UpstreamBackendBuilder backend) {
        return front(backend, EdgeOptions.builder().build());
    }
}

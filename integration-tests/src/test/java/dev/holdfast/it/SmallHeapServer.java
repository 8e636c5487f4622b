package dev.holdfast.it;

import io.modelcontextprotocol.spec.McpSchema.CreateMessageRequest;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.SamplingMessage;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Mono;

/** A server of the SDK on Holdfast in a process of its own that ends where its small heap does not suffice. */
final class SmallHeapServer {
    private static final String LARGE = "x".repeat(15 << 20);

    private SmallHeapServer() {}

    /** The kind of its container. */
    public static void main(String[] arguments) throws Exception {
        TestServer server = TestServer.in(ContainerKind.valueOf(arguments[0]))
                .edge(options -> options.maxRequestSize(16 << 20))
                .tool(
                        "hold",
                        (exchange, request) -> Mono.delay(Duration.ofSeconds(1))
                                .map(late -> "held " + request.arguments().size()))
                .tool("large", (exchange, request) -> Mono.just(LARGE))
                .tool(
                        "ask",
                        (exchange, request) -> exchange.createMessage(CreateMessageRequest.builder(
                                                List.of(SamplingMessage.builder(
                                                                Role.USER,
                                                                TextContent.builder("What is it?")
                                                                        .build())
                                                        .build()),
                                                10)
                                        .build())
                                .delayElement(Duration.ofSeconds(1))
                                .map(result -> "told "
                                        + ((TextContent) result.content())
                                                .text()
                                                .length()))
                .start();
        System.out.println("127.0.0.1:" + server.port());
    }

    static JavaProcess start(ContainerKind kind, int megabytes) throws IOException {
        return JavaProcess.start(
                List.of("-Xmx" + megabytes + "m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
                SmallHeapServer.class.getName(),
                kind.name());
    }
}

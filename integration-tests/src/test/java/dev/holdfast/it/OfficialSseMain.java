package dev.holdfast.it;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.io.OutputStream;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A server on the HTTP+SSE transport of the SDK as a program. It ends with its standard input. */
final class OfficialSseMain {
    private static final Duration STEP = Duration.ofMillis(200);
    private static final int STEPS = 300;

    private OfficialSseMain() {}

    /** Takes a minute, and tells its progress. */
    private static Mono<String> lasting(McpAsyncServerExchange exchange, CallToolRequest request) {
        return Flux.interval(STEP)
                .take(STEPS)
                .concatMap(step -> Tools.progress(exchange, request, step.intValue()))
                .then(Mono.just("done"));
    }

    public static void main(String[] args) throws Exception {
        try (OfficialSseServer server =
                OfficialSseServer.start(Tools.echo(), Tools.tool("lasting", OfficialSseMain::lasting))) {
            System.out.println("serving on 127.0.0.1:" + server.port());
            System.in.transferTo(OutputStream.nullOutputStream());
        }
    }
}

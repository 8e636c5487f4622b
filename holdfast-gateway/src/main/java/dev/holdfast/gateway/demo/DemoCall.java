package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import reactor.core.publisher.Mono;

/**
 * One call of a demo tool whose arguments have been checked.
 *
 * @param exchange the way back to the client
 * @param arguments what the client sent
 * @param progressToken what the client wants its progress to be named by, if it wants any
 */
record DemoCall(McpAsyncServerExchange exchange, Map<String, Object> arguments, Optional<Object> progressToken) {
    /** The value of a {@link DemoParameter.Text}. */
    String text(String parameter) {
        return (String) value(parameter);
    }

    /** The value of a {@link DemoParameter.Whole}. */
    int number(String parameter) {
        return ((Number) value(parameter)).intValue();
    }

    private Object value(String parameter) {
        return Objects.requireNonNull(arguments.get(parameter), parameter);
    }

    /** Tells the client how far the call is; does nothing if the client did not ask for that. */
    Mono<Void> progress(int done, int total) {
        return Mono.justOrEmpty(progressToken)
                .map(token -> ProgressNotification.builder(token, done)
                        .total((double) total)
                        .build())
                .flatMap(exchange::progressNotification);
    }

    /** Sends a log message on the call's own stream, if the session's level lets it pass. */
    Mono<Void> log(String message) {
        return exchange.loggingNotification(LoggingMessageNotification.builder(LoggingLevel.INFO, message)
                .logger("holdfast-demo")
                .build());
    }
}

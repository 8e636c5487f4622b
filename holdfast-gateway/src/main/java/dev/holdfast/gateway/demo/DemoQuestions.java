package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageRequest;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageResult;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Questions to the client in the middle of a call. A client that cannot or will not answer makes a tool error. */
final class DemoQuestions {
    private DemoQuestions() {}

    /** Has the user fill in a form. */
    static Mono<CallToolResult> elicit(
            DemoCall call, String message, Map<String, Object> form, Function<ElicitResult, CallToolResult> answer) {
        if (capabilities(call)
                .map(ClientCapabilities::elicitation)
                .filter(DemoQuestions::takesForms)
                .isEmpty()) {
            return Mono.just(DemoAnswer.error("The client does not support elicitation by form."));
        }
        return call.exchange()
                .createElicitation(new DemoFormRequest(message, form))
                .map(answer)
                .onErrorResume(McpError.class, DemoQuestions::refused)
                .onErrorResume(DemoQuestions::misunderstood);
    }

    /** Has the client's model answer. */
    static Mono<CallToolResult> sample(
            DemoCall call, CreateMessageRequest request, Function<CreateMessageResult, CallToolResult> answer) {
        if (capabilities(call).map(ClientCapabilities::sampling).isEmpty()) {
            return Mono.just(DemoAnswer.error("The client does not support sampling."));
        }
        return call.exchange()
                .createMessage(request)
                .map(answer)
                .onErrorResume(McpError.class, DemoQuestions::refused)
                .onErrorResume(DemoQuestions::misunderstood);
    }

    /** A missing or malformed answer. The SDK's own text for it names its classes, so it is replaced. */
    private static Mono<CallToolResult> misunderstood(Throwable failure) {
        return Mono.just(DemoAnswer.error("The client gave no answer that could be understood."));
    }

    /** What the user did with the form, as the protocol spells it. */
    static String action(ElicitResult result) {
        return result.action().name().toLowerCase(Locale.ROOT);
    }

    /** What the user entered; empty if the form was not sent. */
    static Map<String, Object> content(ElicitResult result) {
        return Optional.ofNullable(result.content()).orElseGet(Map::of);
    }

    private static Optional<ClientCapabilities> capabilities(DemoCall call) {
        return Optional.ofNullable(call.exchange().getClientCapabilities());
    }

    /** Naming no mode means forms, as before there were modes. */
    private static boolean takesForms(ClientCapabilities.Elicitation elicitation) {
        return elicitation.form() != null || elicitation.url() == null;
    }

    private static Mono<CallToolResult> refused(McpError error) {
        return Mono.just(DemoAnswer.error("The client refused: " + error.getMessage()));
    }
}

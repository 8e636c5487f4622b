package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.server.McpServerFeatures.AsyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncPromptSpecification;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CompleteRequest;
import io.modelcontextprotocol.spec.McpSchema.CompleteResult;
import io.modelcontextprotocol.spec.McpSchema.Content;
import io.modelcontextprotocol.spec.McpSchema.EmbeddedResource;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpSchema.GetPromptRequest;
import io.modelcontextprotocol.spec.McpSchema.GetPromptResult;
import io.modelcontextprotocol.spec.McpSchema.ImageContent;
import io.modelcontextprotocol.spec.McpSchema.Prompt;
import io.modelcontextprotocol.spec.McpSchema.PromptArgument;
import io.modelcontextprotocol.spec.McpSchema.PromptMessage;
import io.modelcontextprotocol.spec.McpSchema.PromptReference;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import reactor.core.publisher.Mono;

/** Conformance fixtures: prompts, and the completion of one argument. */
final class DemoPrompts {
    private static final String WITH_ARGUMENTS = "test_prompt_with_arguments";
    private static final List<String> COMPLETIONS = List.of("paris", "park", "party", "test", "testing");

    private DemoPrompts() {}

    static List<AsyncPromptSpecification> all() {
        return List.of(
                prompt(
                        "test_simple_prompt",
                        "A prompt without arguments",
                        List.of(),
                        request -> List.of(text("This is a simple prompt for testing."))),
                prompt(
                        WITH_ARGUMENTS,
                        "A prompt that repeats its arguments",
                        List.of(argument("arg1", "First test argument"), argument("arg2", "Second test argument")),
                        request -> List.of(text("Prompt with arguments: arg1='" + argumentOf(request, "arg1")
                                + "', arg2='" + argumentOf(request, "arg2") + "'"))),
                prompt(
                        "test_prompt_with_embedded_resource",
                        "A prompt that carries a resource",
                        List.of(argument("resourceUri", "URI of the resource to embed")),
                        request -> List.of(
                                resource(argumentOf(request, "resourceUri")),
                                text("Please process the embedded resource above."))),
                prompt(
                        "test_prompt_with_image",
                        "A prompt that carries an image",
                        List.of(),
                        request -> List.of(image(), text("Please analyze the image above."))));
    }

    /** Completes the first argument of {@code test_prompt_with_arguments}. */
    static AsyncCompletionSpecification completion() {
        return new AsyncCompletionSpecification(
                new PromptReference(WITH_ARGUMENTS),
                (exchange, request) -> Mono.fromSupplier(() -> completed(request.argument())));
    }

    private static CompleteResult completed(CompleteRequest.CompleteArgument argument) {
        List<String> values = Stream.of(argument)
                .filter(given -> given.name().equals("arg1"))
                .flatMap(given -> COMPLETIONS.stream().filter(value -> value.startsWith(given.value())))
                .toList();
        return new CompleteResult(new CompleteResult.CompleteCompletion(values, values.size(), false));
    }

    private static AsyncPromptSpecification prompt(
            String name,
            String description,
            List<PromptArgument> arguments,
            Function<GetPromptRequest, List<PromptMessage>> messages) {
        return new AsyncPromptSpecification(
                Prompt.builder(name)
                        .description(description)
                        .arguments(arguments)
                        .build(),
                (exchange, request) -> Mono.fromSupplier(() -> GetPromptResult.builder(messages.apply(request))
                        .description(description)
                        .build()));
    }

    private static PromptArgument argument(String name, String description) {
        return PromptArgument.builder(name)
                .description(description)
                .required(true)
                .build();
    }

    private static String argumentOf(GetPromptRequest request, String name) {
        if (request.arguments() != null && request.arguments().get(name) instanceof String value) {
            return value;
        }
        throw McpError.builder(ErrorCodes.INVALID_PARAMS)
                .message("Prompt " + request.name() + " needs the argument '" + name + "' as a text")
                .build();
    }

    private static PromptMessage text(String text) {
        return message(TextContent.builder(text).build());
    }

    private static PromptMessage image() {
        return message(ImageContent.builder(DemoMedia.PNG, DemoMedia.PNG_TYPE).build());
    }

    private static PromptMessage resource(String uri) {
        return message(
                EmbeddedResource.builder(TextResourceContents.builder(uri, "Embedded resource content for testing.")
                                .mimeType("text/plain")
                                .build())
                        .build());
    }

    private static PromptMessage message(Content content) {
        return PromptMessage.builder(Role.USER, content).build();
    }
}

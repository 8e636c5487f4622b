package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.spec.McpSchema.AudioContent;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.EmbeddedResource;
import io.modelcontextprotocol.spec.McpSchema.ImageContent;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.util.List;
import reactor.core.publisher.Mono;

/** Conformance fixtures: tools that answer at once and always the same, one for each kind of content. */
final class DemoContentTools {
    private DemoContentTools() {}

    static List<DemoTool> all() {
        return List.of(
                tool(
                        "test_simple_text",
                        "Returns a text.",
                        DemoAnswer.text("This is a simple text response for testing.")),
                tool("test_image_content", "Returns an image.", DemoAnswer.of(image())),
                tool("test_audio_content", "Returns a sound.", DemoAnswer.of(audio())),
                tool(
                        "test_embedded_resource",
                        "Returns an embedded resource.",
                        DemoAnswer.of(resource(
                                "test://embedded-resource", "text/plain", "This is an embedded resource content."))),
                tool(
                        "test_multiple_content_types",
                        "Returns a text, an image and an embedded resource.",
                        DemoAnswer.of(
                                TextContent.builder("Multiple content types test:")
                                        .build(),
                                image(),
                                resource(
                                        "test://mixed-content-resource",
                                        "application/json",
                                        "{\"test\":\"data\",\"value\":123}"))),
                tool(
                        "test_error_handling",
                        "Returns a tool error.",
                        DemoAnswer.error("This tool intentionally returns an error for testing")));
    }

    private static DemoTool tool(String name, String description, CallToolResult answer) {
        return new DemoTool(name, description, DemoTool.READS, List.of(), call -> Mono.just(answer));
    }

    private static ImageContent image() {
        return ImageContent.builder(DemoMedia.PNG, DemoMedia.PNG_TYPE).build();
    }

    private static AudioContent audio() {
        return AudioContent.builder(DemoMedia.WAV, DemoMedia.WAV_TYPE).build();
    }

    private static EmbeddedResource resource(String uri, String mimeType, String text) {
        return EmbeddedResource.builder(TextResourceContents.builder(uri, text)
                        .mimeType(mimeType)
                        .build())
                .build();
    }
}

package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.server.McpServerFeatures.AsyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncResourceTemplateSpecification;
import io.modelcontextprotocol.spec.McpSchema.BlobResourceContents;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceResult;
import io.modelcontextprotocol.spec.McpSchema.Resource;
import io.modelcontextprotocol.spec.McpSchema.ResourceContents;
import io.modelcontextprotocol.spec.McpSchema.ResourceTemplate;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import io.modelcontextprotocol.util.DefaultMcpUriTemplateManager;
import io.modelcontextprotocol.util.McpUriTemplateManager;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Mono;

/** Conformance fixtures: resources. The SDK itself answers the requests to subscribe. */
final class DemoResources {
    private static final String PLAIN = "text/plain";
    private static final String JSON = "application/json";

    private DemoResources() {}

    static List<AsyncResourceSpecification> all() {
        return List.of(
                resource(
                        "static-text",
                        "A text that never changes",
                        TextResourceContents.builder(
                                        "test://static-text", "This is the content of the static text resource.")
                                .mimeType(PLAIN)
                                .build()),
                resource(
                        "static-binary",
                        "An image that never changes",
                        BlobResourceContents.builder("test://static-binary", DemoMedia.PNG)
                                .mimeType(DemoMedia.PNG_TYPE)
                                .build()),
                resource(
                        "watched-resource",
                        "A text to subscribe to",
                        TextResourceContents.builder("test://watched-resource", "This is the watched resource.")
                                .mimeType(PLAIN)
                                .build()));
    }

    static List<AsyncResourceTemplateSpecification> template() {
        ResourceTemplate template = ResourceTemplate.builder("test://template/{id}/data", "template")
                .description("A document for every id")
                .mimeType(JSON)
                .build();
        McpUriTemplateManager uris = new DefaultMcpUriTemplateManager(template.uriTemplate());
        return List.of(new AsyncResourceTemplateSpecification(
                template, (exchange, request) -> Mono.fromSupplier(() -> document(uris, request.uri()))));
    }

    private static ReadResourceResult document(McpUriTemplateManager uris, String uri) {
        String id = uris.extractVariableValues(uri).getOrDefault("id", "");
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("id", id);
        document.put("templateTest", true);
        document.put("data", "Data for ID: " + id);
        return result(TextResourceContents.builder(uri, DemoJson.text(document))
                .mimeType(JSON)
                .build());
    }

    private static AsyncResourceSpecification resource(String name, String description, ResourceContents contents) {
        Resource resource = Resource.builder(contents.uri(), name)
                .description(description)
                .mimeType(contents.mimeType())
                .build();
        return new AsyncResourceSpecification(resource, (exchange, request) -> Mono.just(result(contents)));
    }

    private static ReadResourceResult result(ResourceContents contents) {
        return ReadResourceResult.builder(List.of(contents)).build();
    }
}

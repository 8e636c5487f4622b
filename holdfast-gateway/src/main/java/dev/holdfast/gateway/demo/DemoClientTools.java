package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageRequest;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageResult;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.SamplingMessage;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Mono;

/** Conformance fixtures: tools that ask the client something before they answer. */
final class DemoClientTools {
    private static final int MAX_TOKENS = 100;
    private static final int MAX_MESSAGE = 100_000;

    private DemoClientTools() {}

    static List<DemoTool> all() {
        return List.of(
                new DemoTool(
                        "test_sampling",
                        "Has the client's model answer a prompt.",
                        DemoTool.ACTS,
                        List.of(new DemoParameter.Text("prompt", "The prompt to send to the model", MAX_MESSAGE)),
                        DemoClientTools::sampling),
                new DemoTool(
                        "test_elicitation",
                        "Asks the user for a name and an email address.",
                        DemoTool.ACTS,
                        List.of(new DemoParameter.Text("message", "The message to show to the user", MAX_MESSAGE)),
                        DemoClientTools::elicitation),
                form(
                        "test_elicitation_sep1034_defaults",
                        "Shows the user a form with a default for every primitive type.",
                        "Please review the form and change what is wrong",
                        DemoForms.defaults()),
                form(
                        "test_elicitation_sep1330_enums",
                        "Shows the user a form with every kind of choice.",
                        "Please choose",
                        DemoForms.choices()));
    }

    private static Mono<CallToolResult> sampling(DemoCall call) {
        SamplingMessage prompt = SamplingMessage.builder(
                        Role.USER, TextContent.builder(call.text("prompt")).build())
                .build();
        CreateMessageRequest request =
                CreateMessageRequest.builder(List.of(prompt), MAX_TOKENS).build();
        return DemoQuestions.sample(call, request, result -> DemoAnswer.text("LLM response: " + textOf(result)));
    }

    private static String textOf(CreateMessageResult result) {
        return result.content() instanceof TextContent content
                ? content.text()
                : "(" + result.content().type() + ")";
    }

    private static Mono<CallToolResult> elicitation(DemoCall call) {
        return DemoQuestions.elicit(
                call, call.text("message"), DemoForms.contact(), result -> told("User response", result));
    }

    private static DemoTool form(String name, String description, String message, Map<String, Object> form) {
        return new DemoTool(
                name,
                description,
                DemoTool.ACTS,
                List.of(),
                call -> DemoQuestions.elicit(call, message, form, result -> told("Elicitation completed", result)));
    }

    private static CallToolResult told(String opening, ElicitResult result) {
        return DemoAnswer.text(opening + ": action=" + DemoQuestions.action(result) + ", content="
                + DemoJson.text(DemoQuestions.content(result)));
    }
}

package dev.holdfast.gateway.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class DemoServerTest {
    private final DemoTestTransport transport = DemoTestTransport.open();
    private final List<Duration> disconnects = new ArrayList<>();

    DemoServerTest() {
        DemoServer.start(transport, (call, retry) -> disconnects.add(retry));
    }

    @Test
    void everyToolHasADescriptionAndASchemaOfAnObject() {
        assertThat(list("tools"))
                .hasSize(19)
                .allSatisfy(tool -> assertThat(tool.get("description")).isNotNull())
                .allSatisfy(tool -> assertThat(tool.get("inputSchema"))
                        .asInstanceOf(InstanceOfAssertFactories.MAP)
                        .containsEntry("type", "object"));
    }

    @Test
    void everyPromptAndResourceHasADescription() {
        assertThat(list("prompts"))
                .hasSize(4)
                .allSatisfy(prompt -> assertThat(prompt.get("description")).isNotNull());
        assertThat(list("resources"))
                .hasSize(3)
                .allSatisfy(resource -> assertThat(resource.get("description")).isNotNull());
    }

    @Test
    void reconnectionClosesItsStreamBeforeItAnswers() {
        DemoTestAnswer answer = transport.connect().call("test_reconnection", Map.of());

        assertThat(answer.isError()).isFalse();
        assertThat(disconnects).containsExactly(Duration.ofMillis(100));
    }

    @Test
    void theTemplateEscapesWhatItRepeats() {
        Map<String, Object> response =
                last(transport.connect().request("resources/read", Map.of("uri", "test://template/a\"b/data")));
        assertThat(response.toString())
                .contains("{\"id\":\"a\\\"b\",\"templateTest\":true,\"data\":\"Data for ID: a\\\"b\"}");
    }

    @Test
    void aPromptWithoutItsArgumentIsAnInvalidRequest() {
        Map<String, Object> response = last(transport
                .connect()
                .request(
                        "prompts/get", Map.of("name", "test_prompt_with_arguments", "arguments", Map.of("arg1", "a"))));
        assertThat(response.get("error"))
                .isEqualTo(Map.of(
                        "code",
                        -32602,
                        "message",
                        "Prompt test_prompt_with_arguments needs the argument 'arg2' as a text"));
    }

    @Test
    void theSchemaToolHoldsItsCallerToTheSchema() {
        assertThat(transport
                        .connect()
                        .call("json_schema_2020_12_tool", Map.of("name", "a"))
                        .isError())
                .isFalse();
        assertThat(transport
                        .connect()
                        .call("json_schema_2020_12_tool", Map.of("other", "a"))
                        .isError())
                .isTrue();
    }

    @Test
    void samplingTellsWhatTheModelSaid() {
        ClientCapabilities capabilities =
                ClientCapabilities.builder().sampling().build();
        Map<String, Object> said =
                Map.of("role", "assistant", "model", "m", "content", Map.of("type", "text", "text", "Hello"));
        assertThat(transport.connect(capabilities, question -> said).call("test_sampling", Map.of("prompt", "Hi")))
                .isEqualTo(new DemoTestAnswer("LLM response: Hello", false));
    }

    private List<Map<String, Object>> list(String kind) {
        Map<String, Object> result = DemoJson.object(DemoJson.text(
                last(transport.connect().request(kind + "/list", Map.of())).getOrDefault("result", Map.of())));
        List<Map<String, Object>> all = new ArrayList<>();
        if (result.get(kind) instanceof List<?> items) {
            items.forEach(item -> all.add(DemoJson.object(DemoJson.text(item))));
        }
        return all;
    }

    private static Map<String, Object> last(List<Map<String, Object>> stream) {
        return stream.get(stream.size() - 1);
    }
}

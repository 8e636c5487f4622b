package dev.holdfast.gateway.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

class DemoServerTest {
    private static final TypeRef<Map<String, Object>> OBJECT = new TypeRef<>() {};
    private static final ClientCapabilities WITH_FORMS =
            ClientCapabilities.builder().elicitation().build();

    private final DemoTestTransport transport = started(DemoTestTransport.open());

    @Test
    void echoReturnsTheText() {
        assertThat(transport.connect().call("echo", Map.of("text", "häh? \u0001")))
                .isEqualTo(new DemoTestAnswer("häh? \u0001", false));
    }

    @Test
    void slowReportsEachStepInOrderBeforeItsAnswer() {
        List<Map<String, Object>> stream =
                transport.connect().stream("slow", Map.of("ms", 25, "steps", 5), Map.of("progressToken", "t"));

        assertThat(stream.subList(0, 5))
                .extracting(message -> message.get("params"))
                .containsExactlyElementsOf(IntStream.rangeClosed(1, 5)
                        .<Object>mapToObj(done -> Map.of("progressToken", "t", "progress", (double) done, "total", 5.0))
                        .toList());
        assertThat(DemoTestAnswer.of(stream).text()).contains("run=1");
        assertThat(stream).hasSize(6);
    }

    @Test
    void slowReportsNothingWithoutAProgressToken() {
        assertThat(transport.connect().stream("slow", Map.of("ms", 0, "steps", 3), Map.of()))
                .hasSize(1);
    }

    @Test
    void slowCountsItsRunsOverAllSessionsAndNoRefusedCall() {
        transport.connect().call("slow", Map.of("ms", 0, "steps", 1));
        transport.connect().call("slow", Map.of("ms", 0, "steps", 0));
        assertThat(transport.connect().call("slow", Map.of("ms", 0, "steps", 1)).text())
                .contains("run=2");
    }

    @Test
    void slowTakesTheTimeItIsGiven() {
        long start = System.nanoTime();
        transport.connect().call("slow", Map.of("ms", 50, "steps", 7));
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(49_000_000);
    }

    @Test
    void elicitReturnsWhatTheUserEntered() {
        assertThat(elicit(form -> Map.of("action", "accept", "content", Map.of("answer", "42"))))
                .isEqualTo(new DemoTestAnswer("42", false));
    }

    @Test
    void elicitAsksByFormForARequiredText() {
        List<Map<String, Object>> stream =
                transport.connect(WITH_FORMS, form -> Map.of("action", "cancel")).stream("elicit", Map.of(), Map.of());

        assertThat(stream.get(0)).containsEntry("method", "elicitation/create");
        assertThat(stream.get(0).get("params"))
                .isEqualTo(
                        Map.of("mode", "form", "message", "What is your answer?", "requestedSchema", DemoServer.FORM));
    }

    @Test
    void elicitWithoutAnAnswerIsAToolError() {
        assertThat(elicit(form -> Map.of("action", "decline")))
                .isEqualTo(new DemoTestAnswer("No answer: the user chose to decline.", true));
        assertThat(elicit(form -> Map.of("action", "accept")).isError()).isTrue();
    }

    @Test
    void elicitOfAClientWithoutFormsIsAToolError() {
        assertThat(transport.connect().call("elicit", Map.of()))
                .isEqualTo(new DemoTestAnswer("The client does not support elicitation by form.", true));
        ClientCapabilities linksOnly =
                ClientCapabilities.builder().elicitation(false, true).build();
        assertThat(transport
                        .connect(linksOnly, form -> Map.of())
                        .call("elicit", Map.of())
                        .isError())
                .isTrue();
    }

    @Test
    void notifySendsInOrderOnTheListeningStreamOnly() {
        List<Map<String, Object>> stream =
                transport.connect().stream("notify", Map.of("count", 10_000, "tag", "a"), Map.of());

        assertThat(stream).hasSize(1);
        assertThat(DemoTestAnswer.of(stream)).isEqualTo(new DemoTestAnswer("sent=10000 of 10000", false));
        assertThat(transport.listeningStream)
                .extracting(message -> message.get("params"))
                .containsExactlyElementsOf(IntStream.rangeClosed(1, 10_000)
                        .<Object>mapToObj(i -> Map.of("level", "info", "logger", "holdfast-demo", "data", "a#" + i))
                        .toList());
    }

    @Test
    void notifyAnswersWithoutErrorWhenTheTransportRefuses() {
        DemoTestTransport deaf = started(new DemoTestTransport(Mono.error(new IllegalStateException("no stream"))));
        assertThat(deaf.connect().call("notify", Map.of("count", 3, "tag", "a")))
                .isEqualTo(new DemoTestAnswer("sent=0 of 3", false));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    echo   | {}                           | echo: 'text' must be a string, but is missing
                    echo   | {"text":5}                   | echo: 'text' must be a string, but is 5
                    slow   | {"ms":-1,"steps":1}          | slow: 'ms' must be a whole number from 0 to 600000, but is -1
                    slow   | {"ms":600001,"steps":1}      | slow: 'ms' must be a whole number from 0 to 600000, but is 600001
                    slow   | {"ms":1.5,"steps":1}         | slow: 'ms' must be a whole number from 0 to 600000, but is 1.5
                    slow   | {"ms":1,"steps":0}           | slow: 'steps' must be a whole number from 1 to 1000, but is 0
                    slow   | {"ms":1,"steps":4294967297}  | slow: 'steps' must be a whole number from 1 to 1000, but is 4294967297
                    slow   | {"ms":"1","steps":null}      | slow: 'ms' must be a whole number from 0 to 600000, but is a text; 'steps' must be a whole number from 1 to 1000, but is missing
                    notify | {"count":10001,"tag":"a"}    | notify: 'count' must be a whole number from 0 to 10000, but is 10001
                    notify | {"count":1,"tag":["a"]}      | notify: 'tag' must be a string, but is a list or an object
                    """)
    void badInputIsAToolErrorThatNamesEveryFault(String tool, String arguments, String fault) {
        assertThat(transport.connect().call(tool, object(arguments))).isEqualTo(new DemoTestAnswer(fault, true));
    }

    @Test
    void aTagThatIsTooLongIsAToolError() {
        assertThat(transport.connect().call("notify", Map.of("count", 1, "tag", "a".repeat(201))))
                .isEqualTo(new DemoTestAnswer("notify: 'tag' has 201 characters, at most 200 are allowed", true));
    }

    private DemoTestAnswer elicit(Function<Map<String, Object>, Object> answer) {
        return transport.connect(WITH_FORMS, answer).call("elicit", Map.of());
    }

    @Test
    void everyToolHasADescriptionAndASchemaOfAnObject() {
        Map<String, Object> result = McpJsonDefaults.getMapper()
                .convertValue(
                        transport
                                .connect()
                                .request("tools/list", Map.of())
                                .get(0)
                                .get("result"),
                        OBJECT);
        assertThat(result.get("tools"))
                .asInstanceOf(InstanceOfAssertFactories.list(Map.class))
                .extracting(tool -> tool.get("name"))
                .containsExactlyInAnyOrder("echo", "slow", "notify", "elicit");
        assertThat(result.get("tools"))
                .asInstanceOf(InstanceOfAssertFactories.list(Map.class))
                .allSatisfy(tool -> assertThat(tool.get("description")).isNotNull())
                .allSatisfy(tool -> assertThat(tool.get("inputSchema"))
                        .asInstanceOf(InstanceOfAssertFactories.MAP)
                        .containsEntry("type", "object"));
    }

    private static Map<String, Object> object(String json) {
        try {
            return McpJsonDefaults.getMapper().readValue(json, OBJECT);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static DemoTestTransport started(DemoTestTransport transport) {
        DemoServer.start(transport);
        return transport;
    }
}

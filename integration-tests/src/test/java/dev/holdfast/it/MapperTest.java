package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpError;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The server speaks the same JSON by either of the SDK's mappers. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class MapperTest {
    /** What a mapper may stumble over: other planes, escapes, line ends, large and small numbers, nesting, nothing. */
    private static final String ARGUMENTS =
            "{\"text\":\"\ud83d\ude00 \\u00e9 \\\"quoted\\\" \\n\\u2028 <&>\",\"large\":9007199254740993,"
                    + "\"small\":1.5e-7,\"deep\":[[{\"a\":[]}]],\"none\":null,\"yes\":true}";

    private final ContainerKind kind;

    MapperTest(ContainerKind kind) {
        this.kind = kind;
    }

    /** The SDK's mappers. */
    enum Mapper {
        JACKSON_2 {
            @Override
            McpJsonMapper plain() {
                return new io.modelcontextprotocol.json.jackson2.JacksonMcpJsonMapper(new ObjectMapper());
            }
        },
        JACKSON_3 {
            @Override
            McpJsonMapper plain() {
                return new io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper(new JsonMapper());
            }
        };

        abstract McpJsonMapper plain();

        /** Those that there are for the version of the SDK. */
        static Stream<Mapper> available() {
            return Stream.of(values()).filter(Mapper::isAvailable);
        }

        private boolean isAvailable() {
            try {
                plain();
                return true;
            } catch (NoClassDefFoundError e) {
                return false;
            }
        }

        /** One that counts, so that a test can prove that it was this one which was used. */
        CountingMapper create() {
            return new CountingMapper(plain());
        }
    }

    private TestServer server(CountingMapper mapper) throws Exception {
        return TestServer.in(kind)
                .options(options -> options.jsonMapper(mapper))
                .server(specification -> specification.jsonMapper(mapper))
                .tool(
                        "repeat",
                        (exchange, request) -> Mono.fromCallable(() -> mapper.writeValueAsString(request.arguments())))
                .tool(
                        "fail",
                        (exchange, request) -> Mono.error(McpError.builder(-32099)
                                .message("so it shall be")
                                .data(Map.of("why", "test"))
                                .build()))
                .tool(
                        "ask",
                        (exchange, request) -> Tools.ask(exchange, "What is it?")
                                .map(result -> result.action() + " " + result.content()))
                .tool(
                        "count",
                        (exchange, request) ->
                                Tools.progress(exchange, request, 1).thenReturn("done"))
                .start();
    }

    @ParameterizedTest
    @MethodSource("dev.holdfast.it.MapperTest$Mapper#available")
    void whatIsReadAndWrittenIsTheSame(Mapper kindOfMapper) throws Exception {
        CountingMapper mapper = kindOfMapper.create();
        try (TestServer server = server(mapper)) {
            RawSession session = RawSession.open(server.port());
            String call =
                    Json.request("\"id-1\"", "tools/call", "{\"name\":\"repeat\",\"arguments\":" + ARGUMENTS + "}");
            try (RawConnection connection = session.stream(session.post(call))) {
                JsonNode response = connection.message().json();

                assertThat(response.at("/id").asString()).isEqualTo("id-1");
                assertThat(Json.parse(response.at("/result/content/0/text").asString()))
                        .isEqualTo(Json.parse(ARGUMENTS));
                assertThat(response.has("error")).isFalse();
            }
            assertThat(mapper.reads()).isPositive();
            assertThat(mapper.writes()).isPositive();
        }
    }

    @ParameterizedTest
    @MethodSource("dev.holdfast.it.MapperTest$Mapper#available")
    void errorsProgressAndQuestionsAreTheSame(Mapper kindOfMapper) throws Exception {
        try (TestServer server = server(kindOfMapper.create())) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection failing = session.stream(session.post(Json.call("1", "fail")))) {
                JsonNode response = failing.message().json();
                assertThat(response.at("/error/code").asInt()).isEqualTo(-32099);
                assertThat(response.at("/error/data/why").asString()).isEqualTo("test");
                assertThat(response.has("result")).isFalse();
            }
            try (RawConnection counting = session.stream(session.post(Json.callWithProgress("2", "count")))) {
                JsonNode progress = counting.message().json();
                assertThat(progress.at("/method").asString()).isEqualTo("notifications/progress");
                assertThat(progress.at("/params/progressToken").asString()).isEqualTo("p");
                assertThat(counting.message().json().at("/id").asInt()).isEqualTo(2);
            }
            try (RawConnection asking = session.stream(session.post(Json.call("3", "ask")))) {
                JsonNode question = asking.message().json();
                String answer = "{\"action\":\"accept\",\"content\":{\"answer\":\"\ud83d\ude00\"}}";
                assertThat(session.status(
                                session.post(Json.answer(question.at("/id").toString(), answer))))
                        .isEqualTo(202);
                assertThat(asking.message().json().at("/result/content/0/text").asString())
                        .isEqualTo("ACCEPT {answer=\ud83d\ude00}");
            }
            server.log("hello");
            try (RawConnection listening = session.stream(session.get())) {
                assertThat(listening.message().json().at("/params/data").asString())
                        .isEqualTo("hello");
            }
        }
    }

    /** Some mappers refuse it, which JSON allows. */
    @ParameterizedTest
    @MethodSource("dev.holdfast.it.MapperTest$Mapper#available")
    void halfACharacterInANameIsReadOrIsADefiniteError(Mapper kindOfMapper) throws Exception {
        String half = "{\"action\":\"accept\",\"content\":{\"\\ud83d\":\"x\"}}";
        try (TestServer server = server(kindOfMapper.create())) {
            RawSession session = RawSession.open(server.port());
            String call = Json.request("1", "tools/call", "{\"name\":\"repeat\",\"arguments\":" + half + "}");
            try (RawConnection calling = session.stream(session.post(call))) {
                assertAnswers(calling, 1);
            }
            try (RawConnection asking = session.stream(session.post(Json.call("2", "ask")))) {
                JsonNode question = asking.message().json();
                assertThat(session.status(
                                session.post(Json.answer(question.at("/id").toString(), half))))
                        .isEqualTo(202);
                assertAnswers(asking, 2);
            }
        }
    }

    private static void assertAnswers(RawConnection call, int id) {
        JsonNode answer = call.message().json();
        assertThat(answer.at("/id").asInt()).isEqualTo(id);
        assertThat(answer.has("result") || answer.has("error")).isTrue();
    }

    @ParameterizedTest
    @MethodSource("dev.holdfast.it.MapperTest$Mapper#available")
    void theListOfToolsIsTheSame(Mapper kindOfMapper) throws Exception {
        try (TestServer server = server(kindOfMapper.create())) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection connection = session.stream(session.post(Json.request("1", "tools/list", "{}")))) {
                JsonNode tools = connection.message().json().at("/result/tools");

                assertThat(tools.valueStream().map(tool -> tool.at("/name").asString()))
                        .containsExactlyInAnyOrder("echo", "repeat", "fail", "ask", "count");
                assertThat(tools.valueStream()).allSatisfy(tool -> {
                    assertThat(tool.at("/inputSchema")).isEqualTo(Json.parse("{\"type\":\"object\"}"));
                    assertThat(tool.valueStream()).noneMatch(JsonNode::isNull);
                });
            }
        }
    }
}

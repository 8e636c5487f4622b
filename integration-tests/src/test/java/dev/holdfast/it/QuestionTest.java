package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageRequest;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** A question of a handler's to the client outlives the connection that carried it. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class QuestionTest {
    private final ContainerKind kind;
    private final CompletableFuture<Void> mayAsk = new CompletableFuture<>();
    private final List<String> answers = new CopyOnWriteArrayList<>();

    @AutoClose
    private TestServer server;

    private RawSession session;

    /** What the SDK lets a handler ask. */
    enum Question {
        ELICITATION("elicitation/create", "{\"action\":\"accept\",\"content\":{\"text\":\"forty-two\"}}") {
            @Override
            Mono<String> ask(McpAsyncServerExchange exchange) {
                return Tools.ask(exchange, "What is it?")
                        .map(result -> String.valueOf(result.content().get("text")));
            }
        },
        SAMPLING(
                "sampling/createMessage",
                "{\"role\":\"assistant\",\"model\":\"test\",\"content\":{\"type\":\"text\",\"text\":\"forty-two\"}}") {
            @Override
            Mono<String> ask(McpAsyncServerExchange exchange) {
                CreateMessageRequest request = Tools.read(
                        CreateMessageRequest.class,
                        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"What is it?\"}}],"
                                + "\"maxTokens\":10}");
                return exchange.createMessage(request).map(result -> ((TextContent) result.content()).text());
            }
        },
        ROOTS("roots/list", "{\"roots\":[{\"uri\":\"file:///\",\"name\":\"forty-two\"}]}") {
            @Override
            Mono<String> ask(McpAsyncServerExchange exchange) {
                return exchange.listRoots().map(result -> result.roots().get(0).name());
            }
        };

        private final String method;
        private final String answer;

        Question(String method, String answer) {
            this.method = method;
            this.answer = answer;
        }

        abstract Mono<String> ask(McpAsyncServerExchange exchange);
    }

    QuestionTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        TestServer.Builder builder =
                TestServer.in(kind).options(options -> options.heartbeatInterval(Duration.ofMillis(100)));
        for (Question question : Question.values()) {
            builder.tool(
                    question.name(),
                    (exchange, request) -> Mono.fromFuture(mayAsk, true)
                            .then(Mono.defer(() -> question.ask(exchange)))
                            .doOnNext(answers::add));
        }
        server = builder.start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void theHandlerWasAnsweredOnce() {
        assertThat(answers).containsExactly("forty-two");
        session.assertAlive();
    }

    @ParameterizedTest
    @EnumSource
    void aQuestionIsAnsweredAfterItsConnectionBrokeAndCameBack(Question question) {
        mayAsk.complete(null);
        RawConnection call = call(question);
        Frame asked = question(call, question);
        call.reset();

        try (RawConnection again = session.stream(session.get(id(asked)))) {
            assertThat(again.frame().orElseThrow().id()).isEqualTo(asked.id());
            answer(question, asked);
            assertResult(again);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aQuestionThatWasLostWithItsConnectionIsAskedAgain(Question question) {
        RawConnection call = call(question);
        String position = id(call.frame().orElseThrow());
        mayAsk.complete(null);
        Frame lost = question(call, question);
        call.reset();

        try (RawConnection again = session.stream(session.get(position))) {
            Frame asked = question(again, question);
            assertThat(asked.data()).isEqualTo(lost.data());
            assertThat(asked.id()).isEqualTo(lost.id());
            answer(question, asked);
            assertResult(again);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aQuestionThatIsAskedWhileNothingIsConnectedWaitsForTheClient(Question question) {
        RawConnection call = call(question);
        String position = id(call.frame().orElseThrow());
        call.reset();
        awaitNobodyConnected();
        mayAsk.complete(null);
        session.assertAlive();

        try (RawConnection again = session.stream(session.get(position))) {
            answer(question, question(again, question));
            assertResult(again);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aQuestionIsAnsweredWhileNothingIsConnected(Question question) {
        mayAsk.complete(null);
        RawConnection call = call(question);
        String position = id(call.frame().orElseThrow());
        Frame asked = question(call, question);
        call.reset();
        awaitNobodyConnected();

        answer(question, asked);
        await().until(() -> !answers.isEmpty());

        try (RawConnection again = session.stream(session.get(position))) {
            // without the question: nobody waits for its answer any more
            assertResult(again);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSecondAnswerChangesNothing(Question question) {
        mayAsk.complete(null);
        try (RawConnection call = call(question)) {
            Frame asked = question(call, question);
            answer(question, asked);
            answer(question, asked);
            assertResult(call);
            answer(question, asked);
        }
    }

    private void awaitNobodyConnected() {
        await().until(() -> server.holdfast().openConnections() == 0);
    }

    private RawConnection call(Question question) {
        return session.stream(session.post(Json.call("7", question.name())));
    }

    private static Frame question(RawConnection connection, Question question) {
        Frame frame = connection.message();
        assertThat(frame.json().at("/method").asString()).isEqualTo(question.method);
        return frame;
    }

    private static String id(Frame frame) {
        return frame.id().orElseThrow();
    }

    private void answer(Question question, Frame asked) {
        String answer = Json.answer(asked.json().at("/id").toString(), question.answer);
        assertThat(session.status(session.post(answer))).isEqualTo(202);
    }

    private static void assertResult(RawConnection connection) {
        List<Frame> messages = connection.messages();
        assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
        assertThat(messages).hasSize(1);
        JsonNode response = messages.get(0).json();
        assertThat(response.at("/id").asInt()).isEqualTo(7);
        assertThat(response.at("/result/content/0/text").asString()).isEqualTo("forty-two");
    }
}

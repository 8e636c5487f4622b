package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The tools to try a connection with: {@code echo}, {@code slow}, {@code slow_read}, {@code elicit} and {@code notify}. */
final class DemoTools {
    private static final Logger log = LoggerFactory.getLogger(DemoTools.class);
    private static final int MAX_TEXT = 16 << 20;
    private static final int MAX_TAG = 200;

    private static final List<DemoParameter> STEPS = List.of(
            new DemoParameter.Whole("ms", "How long it takes, in milliseconds", 0, 600_000),
            new DemoParameter.Whole("steps", "In how many equal steps", 1, 1_000));

    private final McpStreamableServerTransportProvider provider;
    private final AtomicLong runs = new AtomicLong();

    DemoTools(McpStreamableServerTransportProvider provider) {
        this.provider = provider;
    }

    List<DemoTool> all() {
        return List.of(echo(), slow(), slowRead(), elicit(), notifyListener());
    }

    private static DemoTool echo() {
        return new DemoTool(
                "echo",
                "Returns the text.",
                DemoTool.READS,
                List.of(new DemoParameter.Text("text", "The text to return", MAX_TEXT)),
                call -> Mono.just(DemoAnswer.text(call.text("text"))));
    }

    private DemoTool slow() {
        return new DemoTool(
                "slow",
                "Takes its time in equal steps and reports each when a progress token was given. Answers with run=<n>,"
                        + " the count of executions since the server started.",
                DemoTool.ACTS,
                STEPS,
                this::slow);
    }

    private static DemoTool slowRead() {
        return new DemoTool(
                "slow_read",
                "The same as slow, but it says of itself that it only reads: after the death of the server it is run"
                        + " again.",
                DemoTool.READS,
                STEPS,
                call -> inSteps(call).thenReturn(DemoAnswer.text("read in " + call.number("steps") + " steps")));
    }

    private static DemoTool elicit() {
        return new DemoTool(
                "elicit",
                "Asks the user for an answer through a form and returns it.",
                DemoTool.ACTS,
                List.of(),
                call -> DemoQuestions.elicit(call, "What is your answer?", DemoForms.answer(), DemoTools::answerOf));
    }

    private DemoTool notifyListener() {
        return new DemoTool(
                "notify",
                "Sends log messages with the data <tag>#1, <tag>#2, ... on the session's listening stream, whether or"
                        + " not the client listens.",
                DemoTool.ACTS,
                List.of(
                        new DemoParameter.Whole("count", "How many messages to send", 0, 10_000),
                        new DemoParameter.Text("tag", "What each message begins with", MAX_TAG)),
                this::notifyListener);
    }

    private Mono<CallToolResult> slow(DemoCall call) {
        long run = runs.incrementAndGet();
        int ms = call.number("ms");
        int steps = call.number("steps");
        log.debug("slow: {} ms in {} steps, run={}", ms, steps, run);
        return inSteps(call).thenReturn(DemoAnswer.text("run=" + run + ": " + ms + " ms in " + steps + " steps"));
    }

    /** Completes after {@code ms}, and reports each of {@code steps}. */
    private static Mono<Void> inSteps(DemoCall call) {
        int steps = call.number("steps");
        Duration step = Duration.ofMillis(call.number("ms")).dividedBy(steps);
        return Flux.range(1, steps)
                .concatMap(done -> Mono.delay(step).then(call.progress(done, steps)))
                .then();
    }

    private static CallToolResult answerOf(ElicitResult result) {
        if (result.action() != ElicitResult.Action.ACCEPT) {
            return DemoAnswer.error("No answer: the user chose to " + DemoQuestions.action(result) + ".");
        }
        Map<String, Object> content = DemoQuestions.content(result);
        return content.get("answer") instanceof String answer
                ? DemoAnswer.text(answer)
                : DemoAnswer.error("The form came back without a text in 'answer'.");
    }

    /** A transport may refuse what nobody listens to; the answer then tells how much was sent. */
    private Mono<CallToolResult> notifyListener(DemoCall call) {
        int count = call.number("count");
        String sessionId = call.exchange().sessionId();
        // Through the provider, not the exchange: what the exchange sends goes to the stream of this call.
        return Flux.range(1, count)
                .concatMap(i -> provider.notifyClient(
                                sessionId, "notifications/message", message(call.text("tag") + "#" + i))
                        .thenReturn(i))
                .doOnError(refusal -> log.debug("The transport refused a notification", refusal))
                .onErrorComplete()
                .count()
                .map(sent -> DemoAnswer.text("sent=" + sent + " of " + count));
    }

    private static LoggingMessageNotification message(String data) {
        return LoggingMessageNotification.builder(LoggingLevel.INFO, data)
                .logger("holdfast-demo")
                .build();
    }
}

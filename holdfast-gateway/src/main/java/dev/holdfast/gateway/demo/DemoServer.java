package dev.holdfast.gateway.demo;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import io.modelcontextprotocol.server.McpAsyncServer;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.ElicitRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpSchema.ToolAnnotations;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The built-in MCP server, with four tools to see a recovery with: {@code echo}, {@code slow}, {@code notify} and {@code elicit}. It is an
 * ordinary server of the official Java SDK.
 */
public final class DemoServer {
    private static final Logger log = LoggerFactory.getLogger(DemoServer.class);
    private static final String NAME = "holdfast-demo";
    private static final String INSTRUCTIONS =
            "A server to try connections with: call 'slow' with a progress token, cut the connection, and see the call"
                    + " end well.";
    private static final int MAX_TEXT = 16 << 20;
    private static final int MAX_TAG = 200;

    /** The form of {@code elicit}, as a JSON Schema. */
    static final Map<String, Object> FORM = Map.of(
            "type",
            "object",
            "properties",
            Map.of("answer", Map.of("type", "string", "description", "Any text")),
            "required",
            List.of("answer"));

    private final McpStreamableServerTransportProvider provider;
    /** How often {@code slow} was called. */
    private final AtomicLong runs = new AtomicLong();

    private DemoServer(McpStreamableServerTransportProvider provider) {
        this.provider = provider;
    }

    /**
     * Starts the server on a transport. It runs on the threads of the transport and of Reactor's timer, parks none of
     * them, and ends with the transport.
     *
     * @param provider the transport, not yet in use by another server
     */
    public static McpAsyncServer start(McpStreamableServerTransportProvider provider) {
        return McpServer.async(provider)
                .serverInfo(
                        NAME,
                        Optional.ofNullable(DemoServer.class.getPackage().getImplementationVersion())
                                .orElse("unpackaged"))
                .instructions(INSTRUCTIONS)
                .capabilities(
                        ServerCapabilities.builder().tools(false).logging().build())
                // The tools check their input themselves: the SDK would log a warning for every fault of a caller.
                .validateToolInputs(false)
                .tools(new DemoServer(provider).tools())
                .build();
    }

    private List<AsyncToolSpecification> tools() {
        return List.of(
                tool(
                        "echo",
                        "Returns the text.",
                        true,
                        call -> Mono.just(text(call.text("text"))),
                        Parameter.text("text", "The text to return", MAX_TEXT)),
                tool(
                        "slow",
                        "Takes its time in equal steps and reports each when a progress token was given. Answers with"
                                + " run=<n>, the count of executions since the server started.",
                        false,
                        this::slow,
                        new Parameter("ms", "How long it takes, in milliseconds", 0, 600_000),
                        new Parameter("steps", "In how many equal steps", 1, 1_000)),
                tool(
                        "notify",
                        "Sends log messages with the data <tag>#1, <tag>#2, ... on the session's listening stream,"
                                + " whether or not the client listens.",
                        false,
                        this::notifyListener,
                        new Parameter("count", "How many messages to send", 0, 10_000),
                        Parameter.text("tag", "What each message begins with", MAX_TAG)),
                tool(
                        "elicit",
                        "Asks the user for an answer through a form and returns it.",
                        false,
                        DemoServer::elicit));
    }

    /** The work of a tool on a call whose arguments are good. */
    private interface Work {
        Mono<CallToolResult> on(Call call);
    }

    /** One call of a tool. */
    private record Call(McpAsyncServerExchange exchange, CallToolRequest request) {
        private Map<String, Object> arguments() {
            return request.arguments() == null ? Map.of() : request.arguments();
        }

        private String text(String parameter) {
            return (String) Objects.requireNonNull(arguments().get(parameter));
        }

        private int number(String parameter) {
            return ((Number) Objects.requireNonNull(arguments().get(parameter))).intValue();
        }
    }

    /**
     * A tool. Arguments that break the rules of a parameter are answered with a tool error that names every fault.
     *
     * @param reads whether it changes nothing; else it leaves a trace: a message sent, a question asked, a run counted
     */
    private static AsyncToolSpecification tool(
            String name, String description, boolean reads, Work work, Parameter... parameters) {
        Map<String, Object> properties = new LinkedHashMap<>();
        Arrays.stream(parameters).forEach(each -> properties.put(each.name(), each.schema()));
        List<String> required = Arrays.stream(parameters).map(Parameter::name).toList();
        ToolAnnotations hints = ToolAnnotations.builder()
                .readOnlyHint(reads)
                .destructiveHint(false)
                .idempotentHint(reads)
                .openWorldHint(false)
                .build();
        return AsyncToolSpecification.builder()
                .tool(Tool.builder(name, Map.of("type", "object", "properties", properties, "required", required))
                        .description(description)
                        .annotations(hints)
                        .build())
                .callHandler((exchange, request) -> Mono.defer(() -> {
                    Call call = new Call(exchange, request);
                    String faults = Arrays.stream(parameters)
                            .flatMap(each -> each.fault(call.arguments().get(each.name())).stream())
                            .collect(Collectors.joining("; "));
                    return faults.isEmpty() ? work.on(call) : Mono.just(error(name + ": " + faults));
                }))
                .build();
    }

    private Mono<CallToolResult> slow(Call call) {
        long run = runs.incrementAndGet();
        int ms = call.number("ms");
        int steps = call.number("steps");
        log.debug("slow: {} ms in {} steps, run={}", ms, steps, run);
        Duration step = Duration.ofMillis(ms).dividedBy(steps);
        return Flux.range(1, steps)
                .concatMap(done -> Mono.delay(step).then(progress(call, done, steps)))
                .then()
                .thenReturn(text("run=" + run + ": " + ms + " ms in " + steps + " steps"));
    }

    private static Mono<Void> progress(Call call, int done, int total) {
        return Mono.justOrEmpty(call.request.progressToken())
                .map(token -> ProgressNotification.builder(token, done)
                        .total((double) total)
                        .build())
                .flatMap(call.exchange::progressNotification);
    }

    /** A transport may refuse what nobody listens to; the answer then tells how much was sent. */
    private Mono<CallToolResult> notifyListener(Call call) {
        int count = call.number("count");
        String sessionId = call.exchange.sessionId();
        // Through the provider, not the exchange: what the exchange sends goes to the stream of this call.
        return Flux.range(1, count)
                .concatMap(i -> provider.notifyClient(
                                sessionId,
                                "notifications/message",
                                LoggingMessageNotification.builder(LoggingLevel.INFO, call.text("tag") + "#" + i)
                                        .logger(NAME)
                                        .build())
                        .thenReturn(i))
                .doOnError(refusal -> log.debug("The transport refused a notification", refusal))
                .onErrorComplete()
                .count()
                .map(sent -> text("sent=" + sent + " of " + count));
    }

    /** A client that cannot or will not answer makes a tool error. */
    private static Mono<CallToolResult> elicit(Call call) {
        // naming no mode means forms, as before there were modes
        boolean forms = Optional.ofNullable(call.exchange.getClientCapabilities())
                .map(ClientCapabilities::elicitation)
                .filter(modes -> modes.form() != null || modes.url() == null)
                .isPresent();
        if (!forms) {
            return Mono.just(error("The client does not support elicitation by form."));
        }
        return call.exchange
                .createElicitation(new FormRequest("What is your answer?", FORM))
                .map(DemoServer::answerOf)
                .onErrorResume(
                        McpError.class, refusal -> Mono.just(error("The client refused: " + refusal.getMessage())))
                // the SDK's own text names its classes
                .onErrorResume(failure -> Mono.just(error("The client gave no answer that could be understood.")));
    }

    private static CallToolResult answerOf(ElicitResult result) {
        if (result.action() != ElicitResult.Action.ACCEPT) {
            String action = result.action().name().toLowerCase(Locale.ROOT);
            return error("No answer: the user chose to " + action + ".");
        }
        return result.content() != null && result.content().get("answer") instanceof String answer
                ? text(answer)
                : error("The form came back without a text in 'answer'.");
    }

    private static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }

    private static CallToolResult error(String reason) {
        return CallToolResult.builder().addTextContent(reason).isError(true).build();
    }

    /**
     * A form for the user, in place of the SDK's {@code ElicitFormRequest}: that one (mcp-core 2.1.0) declares its
     * {@code mode} both as a property and as a type id, which Jackson 3.2 refuses to write. Here it is a property only.
     */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NONE)
    record FormRequest(
            @JsonProperty String message, @JsonProperty Map<String, Object> requestedSchema) implements ElicitRequest {
        @Override
        @JsonProperty("mode")
        public String mode() {
            return "form";
        }

        @Override
        public Map<String, Object> meta() {
            return Map.of();
        }
    }

    /**
     * A required input of a tool: what the client is told of it, and the check that holds the client to it.
     *
     * @param least the least whole number, where {@code 5.0} is whole too; below zero for a text
     * @param most the greatest, or the number of code points of a text
     */
    private record Parameter(String name, String description, int least, int most) {
        private static Parameter text(String name, String description, int most) {
            return new Parameter(name, description, -1, most);
        }

        private boolean isText() {
            return least < 0;
        }

        /** The JSON Schema of the value. */
        private Map<String, Object> schema() {
            return isText()
                    ? Map.of("type", "string", "description", description, "maxLength", most)
                    : Map.of("type", "integer", "description", description, "minimum", least, "maximum", most);
        }

        /** What is wrong with the value, in words for the caller; empty if a tool may use it. */
        private Optional<String> fault(@Nullable Object value) {
            if (isText() && value instanceof String text) {
                int length = text.codePointCount(0, text.length());
                String tooLong = "'" + name + "' has " + length + " characters, at most " + most + " are allowed";
                return length <= most ? Optional.empty() : Optional.of(tooLong);
            }
            double number = !isText() && value instanceof Number given ? given.doubleValue() : -1;
            if (number >= 0 && number >= least && number <= most && number == Math.rint(number)) {
                return Optional.empty();
            }
            String wanted = isText() ? "a string" : "a whole number from " + least + " to " + most;
            return Optional.of("'" + name + "' must be " + wanted + ", but is " + described(value));
        }

        private static String described(@Nullable Object value) {
            if (value == null) {
                return "missing";
            }
            if (value instanceof Number || value instanceof Boolean) {
                return value.toString();
            }
            return value instanceof String ? "a text" : "a list or an object";
        }
    }
}

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.holdfast.mcp.HoldfastRequest;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.EdgeOptions;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.CompleteResult;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitRequest;
import io.modelcontextprotocol.spec.McpSchema.GetPromptResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.Prompt;
import io.modelcontextprotocol.spec.McpSchema.PromptReference;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceResult;
import io.modelcontextprotocol.spec.McpSchema.Resource;
import io.modelcontextprotocol.spec.McpSchema.ResourceTemplate;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.SamplingMessage;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import jakarta.servlet.http.HttpServlet;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import reactor.core.publisher.Mono;

/**
 * The server that the MCP conformance suite expects, with its tools, prompts and resources: an ordinary server of the Java SDK, on the
 * transport of Holdfast, in Jetty or, with {@code --tomcat}, in Tomcat. Only {@code test_reconnection} uses more than the SDK offers.
 * Started by {@code ../conformance-server}.
 */
public class ConformanceServer {
    static final String PNG =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
    static final String WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

    static final String IMAGE = "{'type':'image','mimeType':'image/png','data':'" + PNG + "'}";
    static final String NO_INPUT = "{'type':'object'}";

    /** A JSON Schema of 2020-12 that must reach the client as it stands here (SEP-1613). */
    static final String SCHEMA_2020_12 = """
            {'$schema':'https://json-schema.org/draft/2020-12/schema','type':'object',
             '$defs':{'address':{'type':'object','properties':{'street':{'type':'string'},'city':{'type':'string'}}}},
             'properties':{'name':{'type':'string'},'address':{'$ref':'#/$defs/address'}},'additionalProperties':false}
            """;

    static final String CONTACT = """
            {'type':'object','required':['username','email'],'properties':{
              'username':{'type':'string','description':'What the user answers'},
              'email':{'type':'string','description':'An email address'}}}
            """;

    static final Duration TASK_AFTER = Duration.ofMillis(750);
    static final Executor THREADS = task -> new Thread(task).start();
    static final String CONFIRM = "{'type':'object','required':['ok'],'properties':{'ok':{'type':'boolean'}}}";
    static final String NAME = "{'type':'object','required':['name'],'properties':{'name':{'type':'string'}}}";

    /** One field of every primitive type, each with a default (SEP-1034). */
    static final String DEFAULTS = """
            {'type':'object','required':[],'properties':{
              'name':{'type':'string','description':'A name','default':'John Doe'},
              'age':{'type':'integer','description':'An age','default':30},
              'score':{'type':'number','description':'A score','default':95.5},
              'status':{'type':'string','description':'A status','enum':['active','inactive','pending'],'default':'active'},
              'verified':{'type':'boolean','description':'Whether the user is verified','default':true}}}
            """;

    /** Every way to offer a choice (SEP-1330). */
    static final String CHOICES = """
            {'type':'object','required':[],'properties':{
              'untitledSingle':{'type':'string','description':'One of three','enum':['option1','option2','option3']},
              'titledSingle':{'type':'string','description':'One of three, with titles','oneOf':[
                {'const':'value1','title':'First Option'},{'const':'value2','title':'Second Option'},
                {'const':'value3','title':'Third Option'}]},
              'legacyEnum':{'type':'string','description':'One of three, with titles in the older way',
                'enum':['opt1','opt2','opt3'],'enumNames':['Option One','Option Two','Option Three']},
              'untitledMulti':{'type':'array','description':'Some of three','minItems':1,'maxItems':3,
                'items':{'type':'string','enum':['option1','option2','option3']}},
              'titledMulti':{'type':'array','description':'Some of three, with titles','minItems':1,'maxItems':3,
                'items':{'anyOf':[{'const':'value1','title':'First Choice'},{'const':'value2','title':'Second Choice'},
                  {'const':'value3','title':'Third Choice'}]}}}}
            """;

    public static void main(String[] args) throws Exception {
        EdgeOptions edge = EdgeOptions.builder().taskAfter(TASK_AFTER).build();
        HoldfastTransportProvider provider =
                HoldfastTransportProvider.builder().edgeOptions(edge).mcpEndpoint("/mcp").build();
        McpSyncServer server = McpServer.sync(provider)
                .serverInfo("holdfast-conformance", "1")
                .capabilities(ServerCapabilities.builder()
                        .tools(true)
                        .resources(true, false)
                        .prompts(true)
                        .completions()
                        .logging()
                        .build())
                .tools(tools())
                .tools(stateless(provider))
                .resources(resources())
                .resourceTemplates(template())
                .prompts(prompts())
                .completions(completion())
                .build();
        server.getAsyncServer().addTool(multipleInputs()).block();
        int wanted = Integer.parseInt(args[List.of(args).indexOf("--port") + 1]);
        int port = List.of(args).contains("--tomcat") ? inTomcat(provider, wanted) : inJetty(provider, wanted);
        System.out.println("listens on http://127.0.0.1:" + port + "/mcp");
    }

    static int inJetty(HttpServlet servlet, int port) throws Exception {
        Server server = new Server(new InetSocketAddress("127.0.0.1", port));
        ServletContextHandler context = new ServletContextHandler();
        ServletHolder mcp = new ServletHolder(servlet);
        mcp.setAsyncSupported(true);
        context.addServlet(mcp, "/mcp");
        server.setHandler(context);
        server.start();
        return ((ServerConnector) server.getConnectors()[0]).getLocalPort();
    }

    static int inTomcat(HttpServlet servlet, int port) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("conformance").toString());
        Connector connector = new Connector();
        connector.setPort(port);
        connector.setProperty("address", "127.0.0.1");
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "mcp", servlet).setAsyncSupported(true);
        context.addServletMappingDecoded("/mcp", "mcp");
        tomcat.start();
        return connector.getLocalPort();
    }

    static List<SyncToolSpecification> tools() {
        return List.of(
                fixed("test_simple_text", content(text("This is a simple text response for testing."))),
                fixed("test_image_content", content(IMAGE)),
                fixed("test_audio_content", content("{'type':'audio','mimeType':'audio/wav','data':'" + WAV + "'}")),
                fixed("test_embedded_resource",
                        content(resource("test://embedded-resource", "This is an embedded resource content."))),
                fixed("test_multiple_content_types",
                        content(text("Multiple content types test:"), IMAGE, resource("test://mixed-content-resource", "{}"))),
                fixed("test_error_handling",
                        "{'isError':true,'content':[" + text("This tool intentionally returns an error for testing") + "]}"),
                tool("test_tool_with_logging", NO_INPUT, (exchange, request) -> {
                    for (String line : List.of("Tool execution started", "Tool processing data", "Tool execution completed")) {
                        exchange.loggingNotification(LoggingMessageNotification.builder(LoggingLevel.INFO, line).build());
                        pause(50);
                    }
                    return said("Sent three log messages.");
                }),
                tool("test_tool_with_progress", NO_INPUT, (exchange, request) -> {
                    for (int done = 0; done <= 100; done += 50) {
                        exchange.progressNotification(ProgressNotification.builder(request.progressToken(), done).total(100.0).build());
                        pause(50);
                    }
                    return said("Reported progress three times.");
                }),
                tool("test_reconnection", NO_INPUT, (exchange, request) -> {
                    HoldfastRequest.of(exchange.transportContext()).disconnect(Duration.ofMillis(100));
                    pause(300); // most clients are back before there is an answer
                    return said("The stream was closed before this answer was sent.");
                }),
                tool("test_sampling", texts("prompt"), (exchange, request) -> {
                    TextContent prompt = TextContent.builder(String.valueOf(request.arguments().get("prompt"))).build();
                    SamplingMessage message = SamplingMessage.builder(Role.USER, prompt).build();
                    return said("LLM response: "
                            + exchange.createMessage(CreateMessageRequest.builder(List.of(message), 100).build()).content());
                }),
                tool("test_elicitation", texts("message"), (exchange, request) ->
                        elicited(exchange, "User response", String.valueOf(request.arguments().get("message")), CONTACT)),
                tool("test_elicitation_sep1034_defaults", NO_INPUT, (exchange, request) ->
                        elicited(exchange, "Elicitation completed", "Please review the form and change what is wrong", DEFAULTS)),
                tool("test_elicitation_sep1330_enums", NO_INPUT, (exchange, request) ->
                        elicited(exchange, "Elicitation completed", "Please choose", CHOICES)),
                tool("json_schema_2020_12_tool", SCHEMA_2020_12, (exchange, request) -> said("Called with " + request.arguments())));
    }

    /** What the suite asks of a server without sessions, and of one that makes tasks of its calls. */
    static List<SyncToolSpecification> stateless(HoldfastTransportProvider provider) {
        return List.of(
                tool("test_missing_capability", NO_INPUT, (exchange, request) -> {
                    if (exchange.getClientCapabilities().sampling() == null) {
                        throw McpError.builder(-32021)
                                .message("Missing required client capability: sampling")
                                .data(Map.of("requiredCapabilities", Map.of("sampling", Map.of())))
                                .build();
                    }
                    return said("The client can be asked for a sample.");
                }),
                tool("test_streaming_elicitation", NO_INPUT, (exchange, request) -> said(name(exchange, "streaming"))),
                tool("test_logging_tool", NO_INPUT, (exchange, request) -> {
                    exchange.loggingNotification(LoggingMessageNotification.builder(LoggingLevel.INFO, "A line of the log").build());
                    return said("Logged.");
                }),
                tool("test_trigger_tool_change", NO_INPUT, (exchange, request) -> changed(provider, "tools")),
                tool("test_trigger_prompt_change", NO_INPUT, (exchange, request) -> changed(provider, "prompts")),
                tool("test_input_required_result_elicitation", NO_INPUT, (exchange, request) ->
                        said("Hello, " + name(exchange, "user_name") + "!")),
                tool("test_input_required_result_sampling", NO_INPUT, (exchange, request) -> said("" + sample(exchange))),
                tool("test_input_required_result_list_roots", NO_INPUT, (exchange, request) -> said("" + exchange.listRoots().roots())),
                tool("test_input_required_result_request_state", NO_INPUT, (exchange, request) -> {
                    exchange.createElicitation(new Form("Please confirm", read(CONFIRM, Map.class), Map.of()));
                    return said("state-ok");
                }),
                tool("test_input_required_result_tampered_state", NO_INPUT, (exchange, request) -> {
                    exchange.createElicitation(new Form("Please confirm", read(CONFIRM, Map.class), Map.of()));
                    return said("Confirmed.");
                }),
                tool("test_input_required_result_multi_round", NO_INPUT, (exchange, request) ->
                        said(name(exchange, "step1") + " likes " + name(exchange, "step2"))),
                tool("test_input_required_result_capabilities", NO_INPUT, (exchange, request) -> said(
                        exchange.getClientCapabilities().sampling() != null ? "" + sample(exchange)
                        : exchange.getClientCapabilities().elicitation() != null ? name(exchange, "user_name") : "Nobody can be asked.")),
                tool("test_headers", "{'type':'object','properties':{'region':{'type':'string','x-mcp-header':'Region'}}}", (exchange, request) ->
                        said("In " + request.arguments().get("region"))),
                tool("greet", texts("name"), (exchange, request) -> said("Hello, " + request.arguments().get("name") + "!")),
                tool("slow_compute", "{'type':'object','properties':{'seconds':{'type':'number'}}}", (exchange, request) -> {
                    Object seconds = request.arguments().getOrDefault("seconds", 1);
                    becomeTask();
                    pause((long) (1_000 * Double.parseDouble(String.valueOf(seconds))));
                    return said("Computed for " + seconds + " seconds.");
                }),
                tool("failing_job", NO_INPUT, (exchange, request) -> {
                    becomeTask();
                    return read("{'isError':true,'content':[" + text("The job has failed.") + "]}", CallToolResult.class);
                }),
                tool("protocol_error_job", NO_INPUT, (exchange, request) -> {
                    becomeTask();
                    throw McpError.builder(-32603).message("The job broke the protocol.").build();
                }),
                tool("confirm_delete", NO_INPUT, (exchange, request) -> {
                    becomeTask();
                    return said("Deleted, said " + name(exchange, "confirm"));
                }),
                tool("multi_input", NO_INPUT, (exchange, request) -> {
                    becomeTask();
                    CompletableFuture<Object> first = CompletableFuture.supplyAsync(() -> name(exchange, "first"), THREADS);
                    return said(name(exchange, "second") + " and " + first.join());
                }),
                tool("test_tool_with_task", NO_INPUT, (exchange, request) -> {
                    String name = name(exchange, "user_name");
                    becomeTask();
                    return said("Hello, " + name + "!");
                }));
    }

    static CallToolResult changed(HoldfastTransportProvider provider, String list) {
        provider.notifyClients("notifications/" + list + "/list_changed", Map.of()).block();
        return said("The list of " + list + " has changed.");
    }

    /** Asks the client for a name, by a question with a key of the server's. */
    static String name(McpSyncServerExchange exchange, String key) {
        return String.valueOf(exchange.createElicitation(nameForm(key)).content());
    }

    static Form nameForm(String key) {
        return new Form("What is your name?", read(NAME, Map.class), Map.of("dev.holdfast/inputKey", key));
    }

    static Object sample(McpSyncServerExchange exchange) {
        return exchange.createMessage(sampling()).content();
    }

    static CreateMessageRequest sampling() {
        TextContent question = TextContent.builder("What is the capital of France?").build();
        return CreateMessageRequest.builder(List.of(SamplingMessage.builder(Role.USER, question).build()), 100).build();
    }

    /** Asks three things on one thread, without waiting for the answers: threads of a busy machine might ask too far apart. */
    static AsyncToolSpecification multipleInputs() {
        return AsyncToolSpecification.builder()
                .tool(described("test_input_required_result_multiple_inputs", NO_INPUT))
                .callHandler((exchange, request) -> Mono.zip(
                                exchange.createElicitation(nameForm("user_name")), exchange.createMessage(sampling()), exchange.listRoots())
                        .map(all -> said(all.getT1().content() + ", " + all.getT2().content() + ", " + all.getT3().roots())))
                .build();
    }

    static SyncToolSpecification tool(
            String name, String schema, BiFunction<McpSyncServerExchange, CallToolRequest, CallToolResult> work) {
        return SyncToolSpecification.builder().tool(described(name, schema)).callHandler(work).build();
    }

    static Tool described(String name, String schema) {
        return read("{'name':'" + name + "','description':'A fixture of the conformance suite','inputSchema':" + schema + "}", Tool.class);
    }

    static SyncToolSpecification fixed(String name, String result) {
        return tool(name, NO_INPUT, (exchange, request) -> read(result, CallToolResult.class));
    }

    static CallToolResult elicited(McpSyncServerExchange exchange, String opening, String message, String form) {
        var result = exchange.createElicitation(new Form(message, read(form, Map.class), Map.of()));
        return said(opening + ": action=" + result.action().name().toLowerCase() + ", content=" + result.content());
    }

    /** In place of the SDK's {@code ElicitFormRequest}, whose {@code mode} is a property and a type id: Jackson 3.2 refuses to write that. */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NONE)
    public record Form(
            @JsonProperty String message,
            @JsonProperty Map<String, Object> requestedSchema,
            @JsonProperty("_meta") Map<String, Object> meta) implements ElicitRequest {
        @JsonProperty("mode")
        public String mode() {
            return "form";
        }
    }

    static List<SyncResourceSpecification> resources() {
        return Stream.of(
                        resource("test://static-text", "This is the content of the static text resource."),
                        "{'resource':{'uri':'test://static-binary','mimeType':'image/png','blob':'" + PNG + "'}}",
                        resource("test://watched-resource", "This is the watched resource."))
                .map(each -> (Map<?, ?>) read(each, Map.class).get("resource"))
                .map(each -> new SyncResourceSpecification(
                        Resource.builder((String) each.get("uri"), (String) each.get("uri")).mimeType((String) each.get("mimeType")).build(),
                        (exchange, request) -> McpJsonDefaults.getMapper().convertValue(Map.of("contents", List.of(each)), ReadResourceResult.class)))
                .toList();
    }

    static SyncResourceTemplateSpecification template() {
        ResourceTemplate template = ResourceTemplate.builder("test://template/{id}/data", "template").mimeType("application/json").build();
        return new SyncResourceTemplateSpecification(template, (exchange, request) -> {
            String id = request.uri().replaceAll("test://template/(.*)/data", "$1");
            Map<String, Object> document = Map.of("id", id, "templateTest", true, "data", "Data for ID: " + id);
            Map<String, Object> contents = Map.of("uri", request.uri(), "mimeType", "application/json", "text", write(document));
            return McpJsonDefaults.getMapper().convertValue(Map.of("contents", List.of(contents)), ReadResourceResult.class);
        });
    }

    static List<SyncPromptSpecification> prompts() {
        return List.of(
                new SyncPromptSpecification(
                        read("{'name':'test_input_required_result_prompt','description':'A fixture'}", Prompt.class),
                        (exchange, request) -> read(
                                "{'messages':[{'role':'user','content':" + text(name(exchange, "user_context").replaceAll("[^\\w ]", " ")) + "}]}",
                                GetPromptResult.class)),
                prompt("test_simple_prompt", List.of(), text("This is a simple prompt for testing.")),
                prompt("test_prompt_with_arguments", List.of("arg1", "arg2"), text("Prompt with arguments: arg1=^arg1^, arg2=^arg2^")),
                prompt("test_prompt_with_embedded_resource", List.of("resourceUri"),
                        resource("^resourceUri^", "Embedded resource content for testing."),
                        text("Please process the embedded resource above.")),
                prompt("test_prompt_with_image", List.of(), IMAGE, text("Please analyze the image above.")));
    }

    /** A prompt whose contents have the names of its arguments between two {@code ^}. */
    static SyncPromptSpecification prompt(String name, List<String> arguments, String... contents) {
        String required = arguments.stream().map(each -> "{'name':'" + each + "','required':true}").toList().toString();
        String messages = Stream.of(contents).map(each -> "{'role':'user','content':" + each + "}").toList().toString();
        return new SyncPromptSpecification(
                read("{'name':'" + name + "','description':'A fixture','arguments':" + required + "}", Prompt.class), (exchange, request) -> {
                    String filled = messages;
                    for (String argument : arguments) {
                        filled = filled.replace("^" + argument + "^", String.valueOf(request.arguments().get(argument)));
                    }
                    return read("{'messages':" + filled + "}", GetPromptResult.class);
                });
    }

    static SyncCompletionSpecification completion() {
        return new SyncCompletionSpecification(new PromptReference("test_prompt_with_arguments"), (exchange, request) -> {
            List<String> values = Stream.of("paris", "park", "party", "test", "testing")
                    .filter(each -> each.startsWith(request.argument().value()))
                    .toList();
            return new CompleteResult(new CompleteResult.CompleteCompletion(values, values.size(), false));
        });
    }

    static String texts(String name) {
        return "{'type':'object','required':['" + name + "'],'properties':{'" + name + "':{'type':'string'}}}";
    }

    static String content(String... parts) {
        return "{'content':[" + String.join(",", parts) + "]}";
    }

    static String text(String text) {
        return "{'type':'text','text':'" + text + "'}";
    }

    static String resource(String uri, String text) {
        return "{'type':'resource','resource':{'uri':'" + uri + "','mimeType':'text/plain','text':'" + text + "'}}";
    }

    static CallToolResult said(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }

    /** Reads JSON that is part of this program, whose strings stand between single quotes. */
    static <T> T read(String json, Class<T> type) {
        try {
            return McpJsonDefaults.getMapper().readValue(json.replace('\'', '"'), type);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    static String write(Object value) {
        try {
            return McpJsonDefaults.getMapper().writeValueAsString(value);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** For longer than a call may take that does not become a task, where its client takes one. */
    static void becomeTask() {
        pause(2 * TASK_AFTER.toMillis());
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

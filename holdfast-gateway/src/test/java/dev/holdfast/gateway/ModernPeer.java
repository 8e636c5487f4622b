package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A client of the revision without sessions.
 *
 * @param capabilities what it says that it can do, as JSON in which quotes may be single
 * @param headers names and values that each of its requests has beside those of the revision
 */
record ModernPeer(URI url, String capabilities, List<String> headers) {
    static final String NOTHING = "{}";
    static final String TASKS = "{'extensions':{'io.modelcontextprotocol/tasks':{}}}";
    static final String ELICITS = "{'elicitation':{}}";
    static final String ELICITS_IN_TASKS = "{'elicitation':{},'extensions':{'io.modelcontextprotocol/tasks':{}}}";

    private static final Pattern TASK = Pattern.compile("\"taskId\":\"([^\"]+)\"");
    private static final Pattern ASKED = Pattern.compile("\"inputRequests\":\\{\"(q\\d+)\"");
    private static final Pattern STATE = Pattern.compile("\"requestState\":\"([^\"]+)\"");

    ModernPeer(URI url, String capabilities) {
        this(url, capabilities, List.of());
    }

    /** The same client at another server. */
    ModernPeer at(URI other) {
        return new ModernPeer(other, capabilities, headers);
    }

    private HttpPeer peer(String method, String name) {
        List<String> all =
                new ArrayList<>(List.of("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name));
        all.addAll(headers);
        return new HttpPeer(url).with(all.toArray(String[]::new));
    }

    private String body(String method, String params) {
        return "{'jsonrpc':'2.0','id':7,'method':'" + method + "','params':{" + params
                + (params.isEmpty() ? "" : ",") + "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                + "'io.modelcontextprotocol/logLevel':'debug','progressToken':1,"
                + "'io.modelcontextprotocol/clientCapabilities':" + capabilities + "}}}";
    }

    /** The whole answer to a request. */
    String post(String method, String name, String params) {
        return peer(method, name).post(body(method, params)).body();
    }

    /** Posts a request; completes with its stream as soon as the response has begun. */
    CompletableFuture<HttpResponse<Stream<String>>> posted(String method, String name, String params) {
        return peer(method, name).posted(body(method, params));
    }

    /** The bytes of a request, for a client that does more than to wait for its answer. */
    String raw(String method, String name, String params) {
        String json = TestJson.of(body(method, params));
        StringBuilder more = new StringBuilder();
        for (int i = 0; i < headers.size(); i += 2) {
            more.append(headers.get(i)).append(": ").append(headers.get(i + 1)).append("\r\n");
        }
        return "POST " + url.getPath() + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: "
                + method + "\r\nMcp-Name: " + name + "\r\n" + more + "Content-Length: " + json.length() + "\r\n\r\n"
                + json;
    }

    private static String params(String tool, String arguments) {
        return "'name':'" + tool + "','arguments':" + arguments;
    }

    /** The whole answer to a call. */
    String call(String tool, String arguments) {
        return post("tools/call", tool, params(tool, arguments));
    }

    /** Calls a tool; completes with the whole answer. */
    CompletableFuture<String> called(String tool, String arguments) {
        return posted("tools/call", tool, params(tool, arguments))
                .thenApply(response -> response.body().reduce("", (before, line) -> before + line + "\n"));
    }

    /** Goes on with a call that was answered by questions: each of them gets this word. */
    String retry(String tool, String arguments, String asked, String word) {
        return post(
                "tools/call",
                tool,
                params(tool, arguments) + ",'requestState':'" + found(STATE, asked) + "'," + answers(asked, word));
    }

    private static String answers(String asked, String word) {
        return "'inputResponses':{'" + found(ASKED, asked) + "':{'action':'accept','content':{'word':'" + word + "'}}}";
    }

    private static String found(Pattern what, String text) {
        Matcher found = what.matcher(text);
        assertThat(found.find()).as(text).isTrue();
        return found.group(1);
    }

    /** The id of the task that an answer tells of, if it does. */
    static Optional<String> taskIn(String answer) {
        Matcher task = TASK.matcher(answer);
        return task.find() ? Optional.of(task.group(1)) : Optional.empty();
    }

    /** Calls a tool, and returns the id of the task that comes of it. */
    String begun(String tool, String arguments) {
        return found(TASK, call(tool, arguments));
    }

    String task(String id) {
        return post("tasks/get", id, "'taskId':'" + id + "'");
    }

    /** Answers the question of a task with a word. */
    void answer(String id, String asked, String word) {
        post("tasks/update", id, "'taskId':'" + id + "'," + answers(asked, word));
    }

    /** Looks at a task until it is as it should be. */
    String until(String id, Predicate<String> wanted) {
        String[] last = {""};
        try {
            Wait.until("the task is as it should be", () -> {
                last[0] = task(id);
                return wanted.test(last[0]);
            });
        } catch (AssertionError e) {
            throw new AssertionError("after all it is " + last[0], e);
        }
        return last[0];
    }

    static Predicate<String> status(String... statuses) {
        return task -> Arrays.stream(statuses).anyMatch(status -> task.contains("\"status\":\"" + status + "\""));
    }
}

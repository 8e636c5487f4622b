package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tasks of clients without sessions, at gateways that are killed: each was told to its client, so none is lost. */
@Timeout(120)
class GatewayTaskTest {
    /**
     * Has a tool that only reads, whose first run never ends; one whose runs never end; one that takes a second; one that asks for a word
     * after a second, and gives it back; one that asks for two; and one whose question comes after its call was cancelled.
     */
    private static final String SERVER = """
            result() {
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"
            }
            while read -r line; do
              case $line in
                *'"method":"notifications/cancelled"'*) if [ -n "$late" ]; then echo cancelled >> "$1"; fi ;;
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*) result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"method":"tools/list"'*) result '{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"write"},{"name":"ask"}]}' ;;
                *'"name":"read"'*) echo read >> "$1"; if [ "$(grep -c read "$1")" -gt 1 ]; then result '{"content":[{"type":"text","text":"again"}]}'; fi ;;
                *'"name":"write"'*) echo write >> "$1" ;;
                *'"name":"slow"'*) sleep 1; result '{"content":[{"type":"text","text":"slow"}]}' ;;
                *'"name":"late"'*) late=yes; echo late >> "$1" ;;
                *'"name":"ask"'*)
                  asking=$line
                  sleep 1
                  if [ -n "$late" ]; then
                    printf '{"jsonrpc":"2.0","id":"l","method":"elicitation/create","params":{"message":"late?","requestedSchema":{"type":"object"}}}\\n'
                  fi
                  printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}\\n'
                  ;;
                *'"name":"twice"'*)
                  asking=$line
                  printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}\\n'
                  ;;
                *'"id":"q1"'*)
                  first=${line#*'"word":"'}; first=${first%%'"'*}
                  printf '{"jsonrpc":"2.0","id":"q2","method":"elicitation/create","params":{"message":"and?","requestedSchema":{"type":"object"}}}\\n'
                  ;;
                *'"id":"q2"'*) word=${line#*'"word":"'}; word="$first and ${word%%'"'*}"; line=$asking; result '{"content":[{"type":"text","text":"'"$word"'"}]}' ;;
                *'"id":"q"'*) word=${line#*'"word":"'}; word=${word%%'"'*}; line=$asking; result '{"content":[{"type":"text","text":"'"$word"'"}]}' ;;
                *'"method"'*) result '{}' ;;
              esac
            done
            """;

    private static final String TASKS = "{'extensions':{'io.modelcontextprotocol/tasks':{}}}";
    private static final String ASKED = "{'elicitation':{},'extensions':{'io.modelcontextprotocol/tasks':{}}}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<GatewayProcess> started = new ArrayList<>();

    @AfterEach
    void end() {
        started.forEach(GatewayProcess::close);
    }

    private URI serving(String... more) throws IOException {
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0", "--task-after", "300ms"));
        args.addAll(List.of(more));
        args.add("--");
        args.addAll(StdioBed.script(SERVER, notes()).words());
        GatewayProcess gateway = GatewayProcess.start(folder, args);
        started.add(gateway);
        return gateway.url();
    }

    private Path notes() {
        return folder.resolve("notes");
    }

    private List<String> noted() {
        try {
            return Files.readAllLines(notes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private URI restarted() throws IOException {
        started.get(started.size() - 1).close();
        return serving();
    }

    private static String post(URI url, String method, String name, String capabilities, String params) {
        return peer(url, method, name).post(body(method, capabilities, params)).body();
    }

    private static HttpPeer peer(URI url, String method, String name) {
        return new HttpPeer(url).with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name);
    }

    private static String body(String method, String capabilities, String params) {
        return "{'jsonrpc':'2.0','id':7,'method':'" + method + "','params':{" + params
                + ",'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                + "'io.modelcontextprotocol/clientCapabilities':" + capabilities + "}}}";
    }

    /** Calls a tool, and returns the id of the task that comes of it. */
    private static String begun(URI url, String tool, String capabilities) {
        String created = post(url, "tools/call", tool, capabilities, "'name':'" + tool + "','arguments':{}");
        Matcher id = Pattern.compile("\"taskId\":\"([^\"]+)\"").matcher(created);
        assertThat(id.find()).as(created).isTrue();
        return id.group(1);
    }

    private static String task(URI url, String method, String id, String more) {
        return post(url, method, id, TASKS, "'taskId':'" + id + "'" + more);
    }

    private static String until(URI url, String id, Predicate<String> wanted) {
        List<String> last = new ArrayList<>();
        Wait.until("the task is as it should be", () -> {
            last.clear();
            last.add(task(url, "tasks/get", id, ""));
            return wanted.test(last.get(0));
        });
        return last.get(0);
    }

    /** Answers the question of a task with a word. */
    private static void answer(URI url, String id, String asked, String word) {
        Matcher key = Pattern.compile("\"inputRequests\":\\{\"(q\\d+)\"").matcher(asked);
        assertThat(key.find()).as(asked).isTrue();
        task(
                url,
                "tasks/update",
                id,
                ",'inputResponses':{'" + key.group(1) + "':{'action':'accept','content':{'word':'" + word + "'}}}");
    }

    private static Predicate<String> status(String status) {
        return task -> task.contains("\"status\":\"" + status + "\"");
    }

    @Test
    void aTaskOfACallThatMayBeRepeatedIsRunAgain() throws Exception {
        URI first = serving();
        // the tools are known then
        post(first, "tools/list", "", TASKS, "'cursor':null");
        String id = begun(first, "read", TASKS);

        String completed = until(restarted(), id, status("completed"));

        assertThat(completed).contains("again", "\"taskId\":\"" + id + "\"");
        assertThat(noted()).containsExactly("read", "read");
    }

    @Test
    void anyOtherTaskHasFailedAndIsNotRunAgain() throws Exception {
        String id = begun(serving(), "write", TASKS);

        String failed = until(restarted(), id, status("failed"));

        assertThat(failed).contains("whether it had any effect is not known", "\"error\":{\"code\":-32603");
        assertThat(noted()).containsExactly("write");
    }

    @Test
    void theResultOfATaskOutlivesTheGateway() throws Exception {
        URI url = serving();
        String id = begun(url, "ask", ASKED);
        String asked = until(url, id, status("input_required"));
        answer(url, id, asked, "Ann");
        String completed = until(url, id, status("completed"));

        String again = until(restarted(), id, status("completed"));

        for (String result : List.of(completed, again)) {
            assertThat(result).contains("\"text\":\"Ann\"");
        }
    }

    @Test
    void clientsThatAreAskedAtTheSameTimeGetTheirOwnQuestions() throws Exception {
        URI url = serving();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            ids.add(begun(url, "ask", ASKED));
        }
        for (String id : ids) {
            String asked = until(url, id, status("input_required"));
            answer(url, id, asked, "w" + ids.indexOf(id));
        }
        for (String id : ids) {
            assertThat(until(url, id, status("completed"))).contains("\"text\":\"w" + ids.indexOf(id) + "\"");
        }
    }

    @Test
    void aSessionThatWasParkedWithATaskIsInNobodysWay() throws Exception {
        URI url = serving("--park-after", "10s");
        String id = begun(url, "slow", ASKED);
        until(url, id, status("completed"));
        Wait.until("it is parked", () -> peer(url, "", "").get("/stats").body().contains("\"parked\":1"));

        String next = begun(url, "ask", ASKED);

        assertThat(task(url, "tasks/get", id, "")).contains("\"text\":\"slow\"");
        assertThat(until(url, next, status("input_required"))).contains("who?");
    }

    @Test
    void theQuestionOfACallThatWasGivenUpReachesNobodyElse() throws Exception {
        URI url = serving();
        String late = body("tools/call", "{'elicitation':{}}", "'name':'late','arguments':{}");
        peer(url, "tools/call", "late")
                .posted(late)
                .get(20, TimeUnit.SECONDS)
                .body()
                .close();
        Wait.until("the call was given up", () -> noted().contains("cancelled"));

        String asked = post(url, "tools/call", "ask", "{'elicitation':{}}", "'name':'ask','arguments':{}");

        assertThat(asked).contains("who?").doesNotContain("late?");
    }

    @Test
    void aRequestThatWaitsForAnswersIsAnsweredAtEachGatewayOverOneRedis() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            URI here = serving("--store", redis.url(), "--node-name", "here");
            URI there = serving("--store", redis.url(), "--node-name", "there");
            String twice = "'name':'twice','arguments':{}";
            String answer = post(here, "tools/call", "twice", "{'elicitation':{}}", twice);
            for (String word : List.of("Ann", "Bob")) {
                Matcher asked = Pattern.compile("\"inputRequests\":\\{\"(q\\d+)\".*\"requestState\":\"([^\"]+)\"")
                        .matcher(answer);
                assertThat(asked.find()).as(answer).isTrue();
                answer = post(
                        there,
                        "tools/call",
                        "twice",
                        "{'elicitation':{}}",
                        twice + ",'requestState':'" + asked.group(2) + "','inputResponses':{'" + asked.group(1)
                                + "':{'action':'accept','content':{'word':'" + word + "'}}}");
            }
            assertThat(answer).contains("\"text\":\"Ann and Bob\"");
        }
    }

    @Test
    void aTaskIsReadAtEachGatewayOverOneRedisAndOutlivesTheOneThatRunsIt() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            URI here = serving("--store", redis.url(), "--node-name", "here");
            post(here, "tools/list", "", TASKS, "'cursor':null");
            URI there = serving("--store", redis.url(), "--node-name", "there");
            post(there, "tools/list", "", TASKS, "'cursor':null");
            String read = begun(here, "read", TASKS);
            String write = begun(here, "write", TASKS);
            assertThat(task(there, "tasks/get", read, "")).contains("\"status\":\"working\"");

            started.get(0).close();

            assertThat(until(there, read, status("completed"))).contains("again");
            assertThat(until(there, write, status("failed"))).contains("whether it had any effect is not known");
            assertThat(noted()).containsExactlyInAnyOrder("read", "write", "read");
        }
    }
}

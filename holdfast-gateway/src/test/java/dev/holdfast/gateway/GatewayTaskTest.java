package dev.holdfast.gateway;

import static dev.holdfast.gateway.ModernPeer.status;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tasks of clients without sessions, at gateways that are killed: each was told to its client, so none is lost. */
@Timeout(120)
class GatewayTaskTest {
    /**
     * Has a tool that only reads, whose first run never ends; one whose runs never end; one that takes a second; one that asks for a word
     * after a second, and gives it back; one that does so in its second run, and may be repeated; one that pings after a second; one that
     * asks for two; one whose question comes after its call was cancelled; and one that asks when it is done. No resource is ever read.
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
                *'"method":"tools/list"'*) result '{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"recall","annotations":{"idempotentHint":true}},{"name":"write"},{"name":"ask"}]}' ;;
                *'"name":"read"'*) echo read >> "$1"; if [ "$(grep -c read "$1")" -gt 1 ]; then result '{"content":[{"type":"text","text":"again"}]}'; fi ;;
                *'"name":"write"'*) echo write >> "$1" ;;
                *'"method":"resources/read"'*) late=yes; echo resource >> "$1" ;;
                *'"name":"slow"'*) sleep 1; result '{"content":[{"type":"text","text":"slow"}]}' ;;
                *'"name":"outside"'*)
                  result '{"content":[]}'
                  (sleep 0.3; printf '{"jsonrpc":"2.0","id":"o","method":"roots/list"}\\n') & ;;
                *'"id":"o"'*) echo "$line" >> "$1" ;;
                *'"name":"late"'*) late=yes; echo late >> "$1" ;;
                *'"name":"ask"'*)
                  asking=$line
                  sleep 1
                  if [ -n "$late" ]; then
                    printf '{"jsonrpc":"2.0","id":"l","method":"elicitation/create","params":{"message":"late?","requestedSchema":{"type":"object"}}}\\n'
                  fi
                  printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}\\n'
                  ;;
                *'"name":"pings"'*) sleep 1; printf '{"jsonrpc":"2.0","id":"p","method":"ping"}\\n' ;;
                *'"id":"p"'*) echo pong >> "$1" ;;
                *'"name":"recall"'*)
                  asking=$line
                  sleep 1
                  printf '{"jsonrpc":"2.0","id":"r","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}\\n'
                  ;;
                *'"id":"r"'*)
                  word=${line#*'"word":"'}; word=${word%%'"'*}; echo "$word" >> "$1"; line=$asking
                  if [ "$(grep -c "$word" "$1")" -gt 1 ]; then result '{"content":[{"type":"text","text":"'"$word"' again"}]}'; fi ;;
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
            return Files.exists(notes()) ? Files.readAllLines(notes()) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private URI restarted() throws IOException {
        started.get(started.size() - 1).close();
        return serving();
    }

    private static ModernPeer peer(URI url) {
        return new ModernPeer(url, ModernPeer.TASKS);
    }

    private static ModernPeer askedInTasks(URI url) {
        return new ModernPeer(url, ModernPeer.ELICITS_IN_TASKS);
    }

    private static ModernPeer asked(URI url) {
        return new ModernPeer(url, ModernPeer.ELICITS);
    }

    @Test
    void aTaskOfACallThatMayBeRepeatedIsRunAgain() throws Exception {
        URI first = serving();
        // the tools are known then
        peer(first).post("tools/list", "", "");
        String id = peer(first).begun("read", "{}");

        String completed = peer(restarted()).until(id, status("completed"));

        assertThat(completed).contains("again", "\"taskId\":\"" + id + "\"");
        assertThat(noted()).containsExactly("read", "read");
    }

    @Test
    void whatIsNoTaskHasEndedWithItsConnectionAndIsNotRunAgainBesideATask() throws Exception {
        URI url = serving();
        peer(url).post("tools/list", "", "");
        CompletableFuture<?> unused = peer(url).posted("resources/read", "a://b", "'uri':'a://b'");
        Wait.until("the server has the request", () -> noted().contains("resource"));
        String id = peer(url).begun("read", "{}");

        peer(restarted()).until(id, status("completed"));

        assertThat(noted()).containsExactly("resource", "read", "read");
    }

    @Test
    void whatIsNoTaskIsCancelledByADrain() throws Exception {
        URI url = serving("--drain-timeout", "100ms");
        CompletableFuture<?> unused = peer(url).posted("resources/read", "a://b", "'uri':'a://b'");
        Wait.until("the server has the request", () -> noted().contains("resource"));
        Process gateway = started.get(0).process();
        gateway.destroy();

        assertThat(gateway.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(noted()).containsExactly("resource", "cancelled");
    }

    @Test
    void anyOtherTaskHasFailedAndIsNotRunAgain() throws Exception {
        String id = peer(serving()).begun("write", "{}");

        String failed = peer(restarted()).until(id, status("failed"));

        assertThat(failed).contains("whether it had any effect is not known", "\"error\":{\"code\":-32603");
        assertThat(noted()).containsExactly("write");
    }

    @Test
    void theResultOfATaskOutlivesTheGateway() throws Exception {
        URI url = serving();
        String id = askedInTasks(url).begun("ask", "{}");
        String asked = peer(url).until(id, status("input_required"));
        peer(url).answer(id, asked, "Ann");
        String completed = peer(url).until(id, status("completed"));

        String again = peer(restarted()).until(id, status("completed"));

        for (String result : List.of(completed, again)) {
            assertThat(result).contains("\"text\":\"Ann\"");
        }
    }

    @Test
    void aTaskThatIsRunAgainHasTheAnswersOfItsClient() throws Exception {
        URI url = serving();
        peer(url).post("tools/list", "", "");
        String id = askedInTasks(url).begun("recall", "{}");
        String asked = peer(url).until(id, status("input_required"));
        peer(url).answer(id, asked, "Ann");
        Wait.until("the server has the answer", () -> noted().contains("Ann"));

        assertThat(peer(restarted()).until(id, status("completed", "input_required")))
                .contains("\"text\":\"Ann again\"");
    }

    @Test
    void aRequestThatIsRunAgainHasTheAnswersOfItsClient() throws Exception {
        URI url = serving();
        peer(url).post("tools/list", "", "");
        String asked = asked(url).call("recall", "{}");
        CompletableFuture<String> unused =
                CompletableFuture.supplyAsync(() -> asked(url).retry("recall", "{}", asked, "Ann"));
        Wait.until("the server has the answer", () -> noted().contains("Ann"));
        // is in the store behind the answer
        asked(url).post("tools/list", "", "");

        assertThat(asked(restarted()).retry("recall", "{}", asked, "Bob")).contains("\"text\":\"Ann again\"");
    }

    @Test
    void clientsThatAreAskedAtTheSameTimeGetTheirOwnQuestions() throws Exception {
        URI url = serving();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            ids.add(askedInTasks(url).begun("ask", "{}"));
        }
        for (String id : ids) {
            String asked = peer(url).until(id, status("input_required"));
            peer(url).answer(id, asked, "w" + ids.indexOf(id));
        }
        for (String id : ids) {
            assertThat(peer(url).until(id, status("completed"))).contains("\"text\":\"w" + ids.indexOf(id) + "\"");
        }
    }

    @Test
    void aSessionThatWasParkedWithATaskIsInNobodysWay() throws Exception {
        URI url = serving("--park-after", "10s");
        String id = askedInTasks(url).begun("slow", "{}");
        peer(url).until(id, status("completed"));
        Wait.until("it is parked", () -> new HttpPeer(url).get("/stats").body().contains("\"parked\":1"));

        String next = askedInTasks(url).begun("ask", "{}");

        assertThat(peer(url).task(id)).contains("\"text\":\"slow\"");
        assertThat(peer(url).until(next, status("input_required"))).contains("who?");
    }

    @Test
    void theQuestionOfACallThatWasGivenUpReachesNobodyElse() throws Exception {
        URI url = serving();
        asked(url)
                .posted("tools/call", "late", "'name':'late','arguments':{}")
                .get(20, TimeUnit.SECONDS)
                .body()
                .close();
        Wait.until("the call was given up", () -> noted().contains("cancelled"));

        String asked = asked(url).call("ask", "{}");

        assertThat(asked).contains("who?").doesNotContain("late?");
    }

    @Test
    void aServerThatPingsDuringATaskHasItsAnswerThoughNobodyLooksAtTheTask() throws Exception {
        peer(serving()).begun("pings", "{}");

        Wait.until("the server has its answer", () -> noted().contains("pong"));
    }

    @Test
    void aQuestionOutsideOfAnyCallIsDeclined() throws Exception {
        URI url = serving();

        asked(url).call("outside", "{}");

        Wait.until("the server has its answer", () -> noted().stream().anyMatch(line -> line.contains("-32601")));
    }

    @Test
    void aRequestThatWaitsForAnswersIsAnsweredAtEachGatewayOverOneRedis() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            URI here = serving("--store", redis.url(), "--node-name", "here");
            URI there = serving("--store", redis.url(), "--node-name", "there");
            String answer = asked(here).call("twice", "{}");
            for (String word : List.of("Ann", "Bob")) {
                answer = asked(there).retry("twice", "{}", answer, word);
            }
            assertThat(answer).contains("\"text\":\"Ann and Bob\"");
        }
    }

    @Test
    void theQuestionOfATaskThatAnotherGatewayHasCancelledReachesNobodyElse() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            URI here = serving("--store", redis.url(), "--node-name", "here");
            URI there = serving("--store", redis.url(), "--node-name", "there");
            String id = askedInTasks(here).begun("late", "{}");
            peer(there).post("tasks/cancel", id, "'taskId':'" + id + "'");
            Wait.until("the task was given up", () -> noted().contains("cancelled"));

            String asked = asked(here).call("ask", "{}");

            assertThat(asked).contains("who?").doesNotContain("late?");
        }
    }

    @Test
    void aTaskIsReadAtEachGatewayOverOneRedisAndOutlivesTheOneThatRunsIt() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            URI here = serving("--store", redis.url(), "--node-name", "here");
            peer(here).post("tools/list", "", "");
            URI there = serving("--store", redis.url(), "--node-name", "there");
            peer(there).post("tools/list", "", "");
            String read = peer(here).begun("read", "{}");
            String write = peer(here).begun("write", "{}");
            assertThat(peer(there).task(read)).contains("\"status\":\"working\"");

            started.get(0).close();

            assertThat(peer(there).until(read, status("completed"))).contains("again");
            assertThat(peer(there).until(write, status("failed"))).contains("whether it had any effect is not known");
            assertThat(noted()).containsExactlyInAnyOrder("read", "write", "read");
        }
    }

    @Test
    void aTaskThatAnotherGatewayRunsAgainHasTheAnswersOfItsClient() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            URI here = serving("--store", redis.url(), "--node-name", "here");
            peer(here).post("tools/list", "", "");
            URI there = serving("--store", redis.url(), "--node-name", "there");
            String id = askedInTasks(here).begun("recall", "{}");
            String asked = peer(there).until(id, status("input_required"));
            peer(there).answer(id, asked, "Ann");
            peer(there).until(id, status("working"));
            Wait.until("the server has the answer", () -> noted().contains("Ann"));

            started.get(0).close();

            assertThat(peer(there).until(id, status("completed", "input_required")))
                    .contains("\"text\":\"Ann again\"");
        }
    }
}

package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Gateways are killed again and again while calls are in every state that one of a client of tasks can have: it runs and is no task yet, it
 * works, it asks, it has just ended or ended long ago. {@code -Dholdfast.taskkills=100} asks for as many kills; where two gateways share
 * one Redis, whose lease has to end each time, for a tenth of them.
 */
@Timeout(1200)
class KilledTasksTest {
    private static final int KILLS = Integer.getInteger("holdfast.taskkills", 1);
    private static final int KILLS_IN_REDIS = Math.max(1, KILLS / 10);
    private static final long SEED = Long.getLong("holdfast.seed", 4_711L);
    private static final int TASK_AFTER_MILLIS = 200;

    /**
     * Writes the argument {@code key} of each call into the file of notes before it does something. {@code write} never ends, nor does the
     * first run of {@code read}; {@code slow} takes some milliseconds, and {@code ask} asks for a word, once there is a file of that key.
     */
    private static final String SERVER = """
            notes=$1
            result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$1" "$2"; }
            await() {
              left=400
              until [ -e "$notes-$1" ] || [ $left -eq 0 ]; do left=$((left-1)); sleep 0.05; done
            }
            text() { result "$1" '{"content":[{"type":"text","text":"'"$2"'"}]}'; }
            while read -r line; do
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              key=${line#*'"key":"'}
              key=${key%%'"'*}
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*) result "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"method":"tools/list"'*)
                  only='"annotations":{"readOnlyHint":true}'
                  result "$id" '{"tools":[{"name":"read",'"$only"'},{"name":"slow_read",'"$only"'},{"name":"ask_read",'"$only"'},{"name":"write"},{"name":"slow"},{"name":"ask"}]}' ;;
                *'"name":"'*)
                  echo "$key" >> "$notes"
                  run=$(grep -c "^$key\\$" "$notes")
                  case $line in
                    *'"name":"read"'*) if [ "$run" -gt 1 ]; then text "$id" "$key run $run"; fi ;;
                    *'"name":"slow'*)
                      millis=${line#*'"millis":"'}
                      (await "$key"; sleep "0.${millis%%'"'*}"; text "$id" "$key run $run") & ;;
                    *'"name":"ask'*)
                      asking=$id
                      asked=$key
                      (await "$key"; printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}\\n') & ;;
                  esac ;;
                *'"id":"q"'*)
                  word=${line#*'"word":"'}
                  text "$asking" "$asked says ${word%%'"'*}" ;;
                *'"method"'*) result "$id" '{}' ;;
              esac
            done
            """;

    private static final Pattern OUTCOME = Pattern.compile("\"(?:text|message)\":\"([^\"]*)\"");
    private static final String NOT_KNOWN = "whether it had any effect is not known";

    /** What a task does, and what may become of it when its gateway is killed. */
    private enum Kind {
        /** It works. */
        WRITE("write", false),
        /** It works, and may be repeated. */
        READ("read", true),
        /** It waits for an answer. */
        ASK("ask", false),
        /** It waits for an answer, and may be repeated. */
        ASK_READ("ask_read", true),
        /** It has ended. */
        DONE("slow", false),
        /** It ends about now. */
        ENDING("slow", false),
        /** It ends about now, and may be repeated. */
        ENDING_READ("slow_read", true),
        /** It is no task yet. */
        YOUNG("write", false),
        /** It is no task yet, and may be repeated. */
        YOUNG_READ("read", true);

        private final String tool;
        private final boolean repeats;

        Kind(String tool, boolean repeats) {
            this.tool = tool;
            this.repeats = repeats;
        }

        boolean asks() {
            return tool.startsWith("ask");
        }

        String capabilities() {
            return asks() ? ModernPeer.ELICITS_IN_TASKS : ModernPeer.TASKS;
        }
    }

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final SplittableRandom random = new SplittableRandom(SEED);
    private final List<GatewayProcess> started = new ArrayList<>();
    /** What became of each task whose client was told of it, by its id. */
    private final Map<String, String> outcomes = new LinkedHashMap<>();
    /** How many of each kind came to which end. */
    private final Map<String, Integer> ends = new TreeMap<>();

    @AfterEach
    void end() {
        started.forEach(GatewayProcess::close);
    }

    private GatewayProcess serving(String... more) throws IOException {
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0"));
        args.addAll(List.of("--task-after", TASK_AFTER_MILLIS + "ms", "--max-children", "64"));
        args.addAll(List.of(more));
        args.add("--");
        args.addAll(StdioBed.script(SERVER, notes()).words());
        GatewayProcess gateway = GatewayProcess.start(folder, args);
        started.add(gateway);
        return gateway;
    }

    /** Where it listens, once it knows which tools only read. */
    private static URI url(GatewayProcess gateway) {
        URI url = gateway.url();
        assertThat(new ModernPeer(url, ModernPeer.NOTHING).post("tools/list", "", ""))
                .contains("slow_read");
        return url;
    }

    private Path notes() {
        return folder.resolve("notes");
    }

    /** How often a call was run. */
    private int runs(String key) {
        try {
            return Files.exists(notes()) ? Collections.frequency(Files.readAllLines(notes()), key) : 0;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void create(Path file) {
        try {
            Files.createFile(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String outcome(String task) {
        Matcher outcome = OUTCOME.matcher(task);
        assertThat(outcome.find()).as(task).isTrue();
        return outcome.group(1);
    }

    /** What is there when a gateway is killed. */
    private final class Round {
        private final int number;
        private final URI url;
        private final Map<Kind, String> tasks = new EnumMap<>(Kind.class);
        private final Map<Kind, CompletableFuture<String>> young = new EnumMap<>(Kind.class);
        private String done = "";

        private Round(int number, URI url) {
            this.number = number;
            this.url = url;
        }

        private String key(Kind kind) {
            return kind.name().toLowerCase(java.util.Locale.ROOT) + "-" + number;
        }

        private CompletableFuture<String> called(Kind kind, int millis) {
            return new ModernPeer(url, kind.capabilities())
                    .called(kind.tool, "{'key':'" + key(kind) + "','millis':'" + millis + "'}");
        }

        private void begin(Map<Kind, Integer> kinds) {
            Map<Kind, CompletableFuture<String>> calls = new EnumMap<>(Kind.class);
            kinds.forEach((kind, millis) -> calls.put(kind, called(kind, millis)));
            calls.forEach((kind, call) -> {
                String answer = Wait.until(call);
                tasks.put(kind, ModernPeer.taskIn(answer).orElseThrow(() -> new AssertionError(kind + ": " + answer)));
            });
        }

        /** Clients have heard of these tasks. */
        private void goOn(Kind... kinds) {
            for (Kind kind : kinds) {
                create(folder.resolve("notes-" + key(kind)));
            }
        }

        private void begin() {
            begin(Map.of(Kind.WRITE, 0, Kind.READ, 0, Kind.ASK, 0, Kind.ASK_READ, 0, Kind.DONE, 100));
            goOn(Kind.ASK, Kind.ASK_READ, Kind.DONE);
            for (Kind kind : List.of(Kind.ASK, Kind.ASK_READ)) {
                peer(url).until(id(kind), ModernPeer.status("input_required"));
            }
            done = outcome(peer(url).until(id(Kind.DONE), ModernPeer.status("completed")));
            begin(Map.of(Kind.ENDING, random.nextInt(100, 500), Kind.ENDING_READ, random.nextInt(100, 500)));
            goOn(Kind.ENDING, Kind.ENDING_READ);
            for (Kind kind : List.of(Kind.YOUNG, Kind.YOUNG_READ)) {
                young.put(kind, called(kind, 0));
            }
            Wait.until("the last calls run", () -> young.keySet().stream().allMatch(kind -> runs(key(kind)) > 0));
            Duration moment = Duration.ofMillis(random.nextInt(TASK_AFTER_MILLIS));
            long since = System.nanoTime();
            Wait.until("some of them become tasks", () -> System.nanoTime() - since > moment.toNanos());
        }

        private ModernPeer peer(URI at) {
            return new ModernPeer(at, ModernPeer.TASKS);
        }

        private String id(Kind kind) {
            return Optional.ofNullable(tasks.get(kind)).orElseThrow();
        }

        /** Looks at a gateway for what has become of all of it. */
        private void check(URI at) {
            young.forEach((kind, call) -> {
                String answer = call.exceptionally(gone -> "").join();
                ModernPeer.taskIn(answer).ifPresentOrElse(id -> tasks.put(kind, id), () -> ended(kind, "never a task"));
            });
            tasks.forEach((kind, id) -> check(kind, id, peer(at)));
            young.keySet().forEach(this::checkRuns);
        }

        private void check(Kind kind, String id, ModernPeer peer) {
            String task = peer.until(id, now -> {
                if (ModernPeer.status("input_required").test(now)) {
                    // it may be withdrawn meanwhile, and is asked anew
                    peer.answer(id, now, "Ann");
                }
                return ModernPeer.status("completed", "failed").test(now);
            });
            assertThat(task).contains("\"taskId\":\"" + id + "\"");
            boolean completed = ModernPeer.status("completed").test(task);
            String outcome = outcome(task);
            ended(kind, completed ? "completed" : "failed");
            outcomes.put(id, outcome);
            if (!completed) {
                assertThat(outcome).as("%s", kind).contains(NOT_KNOWN);
            } else {
                assertThat(outcome).as("%s", kind).startsWith(key(kind) + " ");
            }
            switch (kind) {
                case WRITE, ASK, YOUNG -> assertThat(completed).as("%s", kind).isFalse();
                case READ, ENDING_READ, YOUNG_READ ->
                    assertThat(completed).as("%s", kind).isTrue();
                case ASK_READ -> assertThat(outcome).isEqualTo(key(kind) + " says Ann");
                case DONE -> assertThat(outcome).isEqualTo(done);
                case ENDING -> {}
            }
            checkRuns(kind);
        }

        private void checkRuns(Kind kind) {
            assertThat(runs(key(kind))).as("runs of %s", key(kind)).isBetween(1, kind.repeats ? 3 : 1);
        }

        private void ended(Kind kind, String how) {
            ends.merge(kind + " " + how, 1, Integer::sum);
        }
    }

    /** Whoever asks again is told the same, be it long after that. */
    private void checkOutcomes(URI at) {
        ModernPeer peer = new ModernPeer(at, ModernPeer.TASKS);
        outcomes.forEach((id, outcome) -> assertThat(outcome(peer.task(id))).isEqualTo(outcome));
    }

    @Test
    void noTaskIsLostAndNothingRunsTwiceThatMustNotWhenAGatewayIsKilled() throws Exception {
        GatewayProcess gateway = serving();
        URI url = url(gateway);
        for (int kill = 1; kill <= KILLS; kill++) {
            Round round = new Round(kill, url);
            round.begin();
            gateway.close();
            gateway = serving();
            url = url(gateway);
            round.check(url);
        }
        checkOutcomes(url);
        System.out.printf("%d kills of a gateway, %d tasks: %s%n", KILLS, outcomes.size(), ends);
    }

    @Test
    void noTaskIsLostAndNothingRunsTwiceThatMustNotWhenOneOfTwoGatewaysIsKilled() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            List<GatewayProcess> gateways = new ArrayList<>();
            List<URI> urls = new ArrayList<>();
            for (int node = 0; node < 2; node++) {
                gateways.add(serving("--store", redis.url(), "--node-name", "n" + node));
                urls.add(url(gateways.get(node)));
            }
            for (int kill = 1; kill <= KILLS_IN_REDIS; kill++) {
                int node = kill % 2;
                Round round = new Round(kill, urls.get(node));
                round.begin();
                gateways.get(node).close();
                round.check(urls.get(1 - node));
                gateways.set(node, serving("--store", redis.url(), "--node-name", "n" + node));
                urls.set(node, url(gateways.get(node)));
            }
            urls.forEach(this::checkOutcomes);
            System.out.printf("%d kills of one of two gateways, %d tasks: %s%n", KILLS_IN_REDIS, outcomes.size(), ends);
        }
    }
}

package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients of two principals with different capabilities call at the same time, are asked, and some leave in the middle: what a child sends
 * for one of them reaches no other. Each call has a secret of its own, which the child repeats in all that it sends for the call, be it
 * after the call was given up. What asks in a task waits until its client
 * has heard of that. {@code -Dholdfast.isolated=1000} asks for as many calls.
 */
@Timeout(300)
class StatelessIsolationTest {
    private static final int CALLS = Integer.getInteger("holdfast.isolated", 150);
    private static final int CLIENTS_OF_A_KIND = 2;
    /** One of so many calls is left. */
    private static final int LEAVES = 20;

    private static final List<String> PRINCIPALS = List.of("alice-0123456789abcdef", "bob-0123456789abcdef");
    private static final Pattern SECRET = Pattern.compile("secret[0-9]+x");

    private static final String SERVER = """
            say() { printf '{"jsonrpc":"2.0",%s}\\n' "$1"; }
            log() { say '"method":"notifications/message","params":{"level":"info","data":"'"$1"'"}'; }
            tell() { say '"method":"notifications/progress","params":{"progressToken":'"$1"',"progress":'"$2"',"message":"'"$3"'"}'; }
            ask() { say '"id":"'"$1"'","method":"'"$2"'","params":{"message":"'"$3"'"}'; }
            text() { say '"id":'"$1"',"result":{"content":[{"type":"text","text":"'"$2"'"}]}'; }
            while read -r line; do
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              secret=${line#*'"secret":"'}
              secret=${secret%%'"'*}
              token=${line#*'"progressToken":'}
              token=${token%%[,\\}]*}
              case $line in
                *'"method":"notifications/cancelled"'*)
                  log "$left"
                  ask late elicitation/create "$left"
                  echo late >> "$1" ;;
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*) say '"id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}}}' ;;
                *'"name":"chat"'*) (log "$secret"; tell "$token" 1 "$secret"; sleep 0.01; log "$secret"; tell "$token" 2 "$secret"; text "$id" "$secret") & ;;
                *'"name":"linger"'*) left=$secret; log "$secret"; tell "$token" 1 "$secret" ;;
                *'"name":"ask"'*)
                  asking=$id; asker=$secret; asked=$token
                  log "$secret"; tell "$token" 1 "$secret"; ask q elicitation/create "$secret" ;;
                *'"name":"sample"'*)
                  asking=$id; asker=$secret; asked=$token
                  log "$secret"; tell "$token" 1 "$secret"
                  (patience=1000
                  until [ -e "$1-$secret" ] || [ $patience -eq 0 ]; do patience=$((patience-1)); sleep 0.02; done
                  ask q sampling/createMessage "$secret") & ;;
                *'"id":"q"'*)
                  word=${line#*'"word":"'}
                  log "$asker"; tell "$asked" 2 "$asker"; text "$asking" "$asker heard ${word%%'"'*}" ;;
                *'"method"'*) say '"id":'"$id"',"result":{}' ;;
              esac
            done
            """;

    /** What a client is, and does. */
    private enum Kind {
        /** It cannot be asked, and shares a child. */
        CHATS(ModernPeer.NOTHING, "chat"),
        /** It is asked in the place of an answer. */
        IS_ASKED(ModernPeer.ELICITS, "ask"),
        /** It is asked in tasks, and by another capability. */
        IS_ASKED_IN_TASKS(
                "{'elicitation':{},'sampling':{},'extensions':{'io.modelcontextprotocol/tasks':{}}}", "sample");

        private final String capabilities;
        private final String tool;

        Kind(String capabilities, String tool) {
            this.capabilities = capabilities;
            this.tool = tool;
        }
    }

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger left = new AtomicInteger();
    /** What of each secret came back, and how often. */
    private final ConcurrentMap<String, Integer> seen = new ConcurrentHashMap<>();

    private int late() {
        Path notes = folder.resolve("notes");
        try {
            return Files.exists(notes) ? Collections.frequency(Files.readAllLines(notes), "late") : 0;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Calls until all calls are done, and the children have sent something for all that were left. */
    private void call(ModernPeer peer, Kind kind) throws IOException {
        long since = System.nanoTime();
        for (int own = 1; calls.get() < CALLS || late() < left.get(); own++) {
            String secret = "secret" + calls.incrementAndGet() + "x";
            // what becomes a task is not given up when its client leaves
            if (own % LEAVES == 1 && calls.get() < CALLS && kind != Kind.IS_ASKED_IN_TASKS) {
                leave(peer, secret);
            } else {
                finish(peer, kind, secret);
            }
            assertThat(System.nanoTime() - since)
                    .as("%d calls; of %d that were left %d are cancelled", calls.get(), left.get(), late())
                    .isLessThan(Duration.ofMinutes(3).toNanos());
        }
    }

    private static String arguments(String secret) {
        return "{'secret':'" + secret + "'}";
    }

    private void finish(ModernPeer peer, Kind kind, String secret) throws IOException {
        String answer = peer.call(kind.tool, arguments(secret));
        check(kind, "first", secret, answer);
        String word = "word of " + secret;
        if (kind == Kind.IS_ASKED) {
            assertThat(answer).contains("\"message\":\"" + secret + "\"", "notifications/message");
            answer = peer.retry(kind.tool, arguments(secret), answer, word);
            assertThat(answer).contains("notifications/message", "\"text\":\"" + secret + " heard " + word + "\"");
        } else if (kind == Kind.IS_ASKED_IN_TASKS) {
            String task = ModernPeer.taskIn(answer).orElseThrow(AssertionError::new);
            Files.createFile(folder.resolve("notes-" + secret));
            String asked = peer.until(task, ModernPeer.status("input_required"));
            check(kind, "question", secret, asked);
            peer.answer(task, asked, word);
            answer = peer.until(task, ModernPeer.status("completed"));
            assertThat(answer)
                    .contains("\"statusMessage\":\"" + secret + "\"", "\"text\":\"" + secret + " heard " + word + "\"");
        } else {
            assertThat(answer).contains("notifications/progress", "\"text\":\"" + secret + "\"");
        }
        check(kind, "last", secret, answer);
    }

    /** Leaves when the child has the call. */
    private void leave(ModernPeer peer, String secret) throws IOException {
        try (Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), peer.url().getPort())) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            socket.getOutputStream()
                    .write(peer.raw("tools/call", "linger", "'name':'linger','arguments':" + arguments(secret))
                            .getBytes(UTF_8));
            BufferedReader lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
            assertThat(lines.lines().filter(line -> line.contains(secret)).findFirst())
                    .isPresent();
            left.incrementAndGet();
            socket.setSoLinger(true, 0);
        }
    }

    private void check(Kind kind, String what, String secret, String answer) {
        Set<String> found =
                SECRET.matcher(answer).results().map(MatchResult::group).collect(Collectors.toSet());
        assertThat(found).as("%s, %s: %s", kind, what, answer).isSubsetOf(Set.of(secret));
        seen.merge(kind + " " + what, 1, Integer::sum);
    }

    @Test
    void whatAChildSendsForOneCallReachesNoOther() throws Exception {
        Path tokens = folder.resolve("tokens");
        Files.writeString(
                tokens,
                PRINCIPALS.stream()
                        .map(token -> token.replaceFirst("-.*", " ") + token + "\n")
                        .collect(Collectors.joining()));
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0"));
        args.addAll(
                List.of("--auth-token-file", tokens.toString(), "--max-children", "64", "--task-after", "100ms", "--"));
        args.addAll(StdioBed.script(SERVER, folder.resolve("notes")).words());
        ExecutorService clients = Executors.newCachedThreadPool();
        try (GatewayProcess gateway = GatewayProcess.start(folder, args)) {
            URI url = gateway.url();
            List<Future<?>> calling = new ArrayList<>();
            for (String token : PRINCIPALS) {
                for (Kind kind : Kind.values()) {
                    ModernPeer peer =
                            new ModernPeer(url, kind.capabilities, List.of("Authorization", "Bearer " + token));
                    for (int client = 0; client < CLIENTS_OF_A_KIND; client++) {
                        calling.add(clients.submit(() -> {
                            call(peer, kind);
                            return kind;
                        }));
                    }
                }
            }
            for (Future<?> each : calling) {
                each.get(4, TimeUnit.MINUTES);
            }
        } finally {
            clients.shutdownNow();
        }
        Map<String, Integer> sorted = new TreeMap<>(seen);
        System.out.printf("%d calls, %d of them left: %s%n", calls.get(), left.get(), sorted);
    }
}

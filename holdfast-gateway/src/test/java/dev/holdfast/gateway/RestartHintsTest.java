package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that do no harm, of clients that do not list the tools, over gateways that are killed. */
@Timeout(240)
class RestartHintsTest {
    /** Has one tool, which only reads, and lists it on the first of two pages. Its first run never ends; each run is noted, and the last page. */
    private static final String SERVER = """
            result() {
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"
            }
            while read -r line; do
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*) result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"cursor":"2"'*) echo last >> "$1"; result '{"tools":[]}' ;;
                *'"method":"tools/list"'*) result '{"tools":[{"name":"read","annotations":{"readOnlyHint":true}}],"nextCursor":"2"}' ;;
                *'"method":"tools/call"'*) echo call >> "$1"; if [ "$(grep -c call "$1")" -gt 1 ]; then result '{"content":[]}'; fi ;;
                *'"method"'*) result '{}' ;;
              esac
            done
            """;

    private static final String CALL =
            "{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'read','arguments':{}}}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<GatewayProcess> started = new ArrayList<>();

    @AfterEach
    void end() {
        started.forEach(GatewayProcess::close);
    }

    private GatewayProcess serving(List<String> server) throws IOException {
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0"));
        args.addAll(server);
        GatewayProcess gateway = GatewayProcess.start(folder, args);
        started.add(gateway);
        return gateway;
    }

    private static void kill(GatewayProcess gateway) throws InterruptedException {
        gateway.process().destroyForcibly().waitFor();
    }

    /** What a server has noted of lists and calls. */
    private interface Notes {
        List<String> read();
    }

    private static List<String> lines(Path notes) {
        try {
            return Files.exists(notes) ? Files.readAllLines(notes) : List.of();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aCallAfterARestartIsRunAgainAfterTheNextThoughItsClientListsNoTools() throws Exception {
        Path notes = folder.resolve("notes");
        List<String> server = new ArrayList<>(List.of("--"));
        server.addAll(StdioBed.script(SERVER, notes).words());

        twoRestarts(server, () -> lines(notes));
    }

    @Test
    void thatHoldsForAnUpstreamToo() throws Exception {
        List<String> notes = new CopyOnWriteArrayList<>();
        try (ScriptedUpstream upstream = new ScriptedUpstream()) {
            upstream.on(
                    "initialize",
                    asked -> asked.json("{'jsonrpc':'2.0','id':" + asked.id()
                            + ",'result':{'protocolVersion':'2025-11-25','capabilities':{'tools':{}}}}"));
            upstream.on("tools/list", asked -> {
                String first = "{'name':'read','annotations':{'readOnlyHint':true}}],'nextCursor':'2'";
                boolean last = asked.body().contains("\"cursor\":\"2\"");
                if (last) {
                    notes.add("last");
                }
                asked.json(
                        "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{'tools':[" + (last ? "]" : first) + "}}");
            });
            upstream.on("tools/call", asked -> {
                notes.add("call");
                if (notes.stream().filter("call"::equals).count() > 1) {
                    asked.result("again");
                }
            });

            twoRestarts(List.of("--upstream", upstream.url().toString()), () -> notes);
        }
    }

    private void twoRestarts(List<String> server, Notes notes) throws IOException, InterruptedException {
        GatewayProcess first = serving(server);
        HttpPeer peer = HttpPeer.connected(first.url());
        peer.call(1, "ping");
        assertThat(notes.read())
                .as("a client that has just come lists the tools itself")
                .isEmpty();
        kill(first);

        GatewayProcess second = serving(server);
        HttpPeer again = peer.at(second.url());
        // brings the session back
        again.call(1, "ping");
        Wait.until(
                "the first page is known when the last is asked for",
                () -> notes.read().contains("last"));
        try (Stream<String> lines = Wait.until(again.posted(CALL)).body()) {
            String id = firstId(lines.iterator());
            Wait.until("the call runs", () -> notes.read().contains("call"));
            kill(second);

            GatewayProcess third = serving(server);
            try (Stream<String> rest =
                    Wait.until(peer.at(third.url()).resumed(id)).body()) {
                assertThat(rest.filter(line -> line.startsWith("data: {")).findFirst())
                        .hasValueSatisfying(line -> assertThat(line).contains("\"id\":2,\"result\""));
            }
        }
        assertThat(notes.read().stream().filter("call"::equals)).hasSize(2);
    }

    private static String firstId(Iterator<String> lines) {
        while (true) {
            String line = lines.next();
            if (line.startsWith("id:")) {
                return line.substring(line.indexOf(':') + 1).strip();
            }
        }
    }
}

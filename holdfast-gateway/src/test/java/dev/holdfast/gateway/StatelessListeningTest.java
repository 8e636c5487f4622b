package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Clients without sessions that listen to a server which tells of some resources, and not of others. */
@Timeout(60)
class StatelessListeningTest {
    private static final String SERVER = """
            say() { printf '{"jsonrpc":"2.0",%s}\\n' "$1"; }
            updated() { say '"method":"notifications/resources/updated","params":{"uri":"'"$1"'"}'; }
            while read -r line; do
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*)
                  if [ "$1" = refuses ]; then say '"id":'"$id"',"error":{"code":-32099,"message":"no licence"}'; continue; fi
                  say '"id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"method":"resources/subscribe"'*secret*) say '"id":'"$id"',"error":{"code":-32002,"message":"Resource not found"}' ;;
                *'"method":"resources/'*subscribe*) say '"id":'"$id"',"result":{}' ;;
                *'"name":"touch"'*) updated file:///secret; updated file:///open; say '"id":'"$id"',"result":{"content":[]}' ;;
              esac
            done
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private GatewayProcess serving(String how) throws IOException {
        List<String> args = Stream.concat(
                        Stream.of("serve", "--port", "0", "--"), StdioBed.script(SERVER, how).words().stream())
                .toList();
        return GatewayProcess.start(folder, args);
    }

    private static ModernPeer peer(URI url) {
        return new ModernPeer(url, ModernPeer.TASKS);
    }

    private static String next(Iterator<String> lines) {
        while (true) {
            String line = lines.next();
            if (line.startsWith("data:") && line.contains("method")) {
                return line;
            }
        }
    }

    @Test
    void aClientHearsOfWhichResourcesItsServerTells() throws Exception {
        try (GatewayProcess gateway = serving("takes")) {
            ModernPeer peer = peer(gateway.url());
            HttpResponse<Stream<String>> listening = peer.posted(
                            "subscriptions/listen",
                            "",
                            "'notifications':{'resourceSubscriptions':['file:///open','file:///secret','file:///open']}")
                    .get(20, TimeUnit.SECONDS);
            try (Stream<String> body = listening.body()) {
                Iterator<String> lines = body.iterator();
                assertThat(next(lines))
                        .contains("notifications/subscriptions/acknowledged")
                        .contains("\"resourceSubscriptions\":[\"file:///open\"]");

                assertThat(peer.call("touch", "{}")).contains("\"content\"");

                assertThat(next(lines))
                        .contains("notifications/resources/updated")
                        .contains("file:///open");
            }
        }
    }

    @Test
    void aClientThatWantsTooMuchIsToldHowMuchItMayWant() throws Exception {
        try (GatewayProcess gateway = serving("takes")) {
            ModernPeer peer = peer(gateway.url());
            String tasks = IntStream.range(0, 65).mapToObj(i -> "'t" + i + "'").collect(Collectors.joining(","));
            assertThat(peer.post("subscriptions/listen", "", "'notifications':{'taskIds':[" + tasks + "]}"))
                    .contains("-32602")
                    .contains("taskIds must not name more than 64");
            String uris =
                    IntStream.range(0, 257).mapToObj(i -> "'file:///" + i + "'").collect(Collectors.joining(","));
            assertThat(peer.post(
                            "subscriptions/listen", "", "'notifications':{'resourceSubscriptions':[" + uris + "]}"))
                    .contains("-32602")
                    .contains("resourceSubscriptions must not name more than 256");
        }
    }

    @Test
    void aClientHearsWhyItsServerCannotBeOpened() throws Exception {
        try (GatewayProcess gateway = serving("refuses")) {
            ModernPeer peer = peer(gateway.url());
            assertThat(peer.call("touch", "{}")).contains("\"id\":7").contains("no licence");
            assertThat(peer.posted("tools/call", "touch", "'name':'touch'")
                            .get(20, TimeUnit.SECONDS)
                            .statusCode())
                    .isEqualTo(503);
        }
    }
}

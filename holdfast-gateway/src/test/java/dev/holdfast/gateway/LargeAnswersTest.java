package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tools of many sessions that return much at the same time, and a gateway with a small heap. */
@Timeout(300)
class LargeAnswersTest {
    private static final int CHILDREN = 16;
    private static final int BYTES = 15_000_000;
    private static final String SERVER = "read line; echo '" + Json.INITIALIZED_RESULT + "'; while read -r line; do "
            + "case $line in *tools/call*) printf '%s' '" + Json.of("{'jsonrpc':'2.0','id':1,'result':{'data':'")
            + "'; "
            + "head -c " + BYTES + " /dev/zero | tr '\\0' x; echo '" + Json.of("'}}") + "' ;; esac; done";
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void theLargeAnswersOfAllChildrenAtOnceDoNotEndTheGateway() throws IOException {
        List<String> args = new ArrayList<>(
                List.of("serve", "--store", "memory", "--port", "0", "--max-children", String.valueOf(CHILDREN), "--"));
        args.addAll(StdioBed.script(SERVER).words());
        List<String> small = List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError");
        try (GatewayProcess gateway = GatewayProcess.start(folder, small, args)) {
            URI url = gateway.url();
            List<HttpPeer> peers = IntStream.range(0, CHILDREN)
                    .mapToObj(i -> HttpPeer.connected(url))
                    .toList();

            List<CompletableFuture<Long>> calls = peers.stream()
                    .map(peer -> CompletableFuture.supplyAsync(() -> call(peer), task -> new Thread(task).start()))
                    .toList();
            // a session whose client is slow may end for the history that it keeps; its client is told so
            List<Long> read = calls.stream()
                    .map(call -> call.orTimeout(120, TimeUnit.SECONDS).join())
                    .toList();
            assertThat(read).anyMatch(bytes -> bytes > BYTES);
            HttpPeer.connectedAtLast(url);
            assertThat(gateway.process().isAlive()).isTrue();
        }
    }

    private static long call(HttpPeer peer) {
        HttpRequest request = HttpRequest.newBuilder(peer.url())
                .header("Mcp-Session-Id", peer.session())
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream")
                .POST(BodyPublishers.ofString(Json.of("{'jsonrpc':'2.0','id':1,'method':'tools/call'}")))
                .build();
        try (InputStream body =
                CLIENT.send(request, BodyHandlers.ofInputStream()).body()) {
            return body.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }
}

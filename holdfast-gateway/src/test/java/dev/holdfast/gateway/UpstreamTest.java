package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.ShellServer;
import dev.holdfast.redis.FreePort;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A gateway in front of another one, which is an upstream like any: it dies, forgets its sessions and comes back. */
@Timeout(120)
class UpstreamTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private static TestGateway behind(int port) {
        return new TestGateway("--port", String.valueOf(port));
    }

    private static TestGateway before(URI url, String... forwarded) {
        return TestGateway.before(url, forwarded);
    }

    @Test
    void callsPassAndEachSessionHasItsOwnAtTheUpstream() {
        try (TestGateway upstream = behind(0);
                TestGateway gateway = before(upstream.url())) {
            HttpPeer one = HttpPeer.connected(gateway.url());
            HttpPeer two = HttpPeer.connected(gateway.url());
            assertThat(TestGateway.server(one, 1)).isNotEqualTo(TestGateway.server(two, 1));
            assertThat(upstream.gateway.engine().stats().sessions()).isEqualTo(2);
            assertThat(one.delete().statusCode()).isEqualTo(200);
            Wait.until(
                    "the session at the upstream ends",
                    () -> upstream.gateway.engine().stats().sessions() == 1);
        }
    }

    @Test
    void theSessionStaysWhereTheUpstreamIsRestartedAndHasForgottenIt() {
        int port = FreePort.next();
        TestGateway first = behind(port);
        try (TestGateway gateway = before(first.url())) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            try (ListeningSocket listening = new ListeningSocket(peer)) {
                ProcessHandle before = TestGateway.server(peer, 1);
                first.close();
                try (TestGateway second = behind(port)) {
                    ProcessHandle after = TestGateway.server(peer, 2);
                    assertThat(after).isNotEqualTo(before);
                    assertThat(TestGateway.server(peer, 3)).isEqualTo(after);
                    assertThat(second.gateway.engine().stats().sessions()).isOne();
                }
            }
            assertThat(gateway.gateway.engine().stats().sessions()).isOne();
            assertThat(gateway.gateway.engine().stats().restored()).isOne();
        }
    }

    @Test
    void aCallThatRanWhenTheUpstreamDiedEndsWithADefiniteErrorAndTheNextSucceeds() throws Exception {
        String port = Integer.toString(FreePort.next());
        List<String> args = List.of("serve", "--port", port, "--store", "memory", "--");
        try (GatewayProcess dying =
                GatewayProcess.start(folder, TestGateway.words(args, ShellServer.COMMAND.words()))) {
            URI url = dying.url();
            try (TestGateway gateway = before(url)) {
                HttpPeer peer = HttpPeer.connected(gateway.url());
                var running = peer.posted(1, "patient");
                assertThat(Wait.until(running).statusCode()).isEqualTo(200);
                Wait.until(
                        "the upstream has the call",
                        () -> peer.at(url).get("/stats").body().contains("\"runningCalls\":1"));

                dying.process().destroyForcibly();
                assertThat(dying.exitCode(20)).isNotZero();
                try (TestGateway next = behind(url.getPort())) {
                    assertThat(peer.call(3, "who")).contains("\"server\"");
                    List<String> lines = Wait.until(running).body().toList();
                    assertThat(lines)
                            .anyMatch(line -> line.contains("\"id\":1")
                                    && line.contains("error")
                                    && line.contains("it is not known whether the upstream has executed the request"));
                    assertThat(next.gateway.engine().stats().sessions()).isOne();
                }
            }
        }
    }

    @Test
    void whatIsAskedWhileTheUpstreamIsAwayIsAnsweredWhenItIsBack() {
        int port = FreePort.next();
        TestGateway first = behind(port);
        try (TestGateway gateway = before(first.url())) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            TestGateway.server(peer, 1);
            first.close();
            // on a connection that was closed just now it would not be known whether the call has arrived
            Wait.until("the gateway has no connection to it", () -> !Sockets.openTo(port));
            var waiting = peer.posted(2, "who");
            assertThat(Wait.until(waiting).statusCode()).isEqualTo(200);
            try (TestGateway second = behind(port)) {
                assertThat(Wait.until(waiting).body()).anyMatch(line -> line.contains("\"server\""));
                assertThat(second.gateway.engine().stats().sessions()).isOne();
            }
        }
    }

    @Test
    void aNewSessionIsRefusedInTimeWhereThereIsNoUpstream() {
        URI url = URI.create("http://127.0.0.1:" + FreePort.next() + "/mcp");
        try (TestGateway gateway = before(url)) {
            assertThat(new HttpPeer(gateway.url()).post(TestJson.INITIALIZE).body())
                    .contains("the upstream did not answer initialize within 10000 ms");
        }
    }

    @Test
    void theSessionSurvivesTheDeathOfTheGatewayAndOfTheUpstream() throws Exception {
        int port = FreePort.next();
        TestGateway first = behind(port);
        List<String> args = List.of(
                "serve",
                "--port",
                "0",
                "--store",
                "rocksdb:" + folder.resolve("store"),
                "--upstream",
                "" + first.url());
        HttpPeer peer;
        try (GatewayProcess gateway = GatewayProcess.start(folder, args)) {
            peer = HttpPeer.connected(gateway.url());
            TestGateway.server(peer, 1);
            gateway.process().destroyForcibly();
            assertThat(gateway.exitCode(20)).isNotZero();
        }
        first.close();
        try (TestGateway second = behind(port);
                GatewayProcess gateway = GatewayProcess.start(folder, args)) {
            HttpPeer back = peer.at(gateway.url());
            assertThat(back.call(2, "who")).contains("\"server\"");
            assertThat(second.gateway.engine().stats().sessions()).isOne();
        }
    }
}

package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** More sessions than children: whose child ends for another, and what its client notices of that. */
@Timeout(120)
class FewChildrenTest {
    /** Less than a heartbeat, after which the end of a connection is noticed in any case. */
    private static final Duration AT_ONCE = Duration.ofSeconds(10);

    private static final String HEALTH = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

    private static TestGateway atMost(int children) {
        return new TestGateway("--max-children", String.valueOf(children));
    }

    private static HttpResponse<String> newcomer(HttpPeer any) {
        return new HttpPeer(any.url()).post(TestJson.INITIALIZE);
    }

    /** Processes of this JVM that run, be it only for a moment yet. */
    private static long children() {
        return ProcessHandle.current()
                .children()
                .filter(child -> runs(child.pid()))
                .count();
    }

    private static boolean runs(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void abandonedSessionsHaveNoMoreChildrenThanMayBeAndEachAnswersWhenItsClientIsBack() {
        try (TestGateway gateway = atMost(3)) {
            List<HttpPeer> peers = new ArrayList<>();
            for (int i = 1; i <= 12; i++) {
                HttpPeer peer = HttpPeer.connected(gateway.url());
                peers.add(peer);
                try (ListeningSocket listening = new ListeningSocket(peer)) {
                    assertThat(peer.call(1, "tools/list")).contains("\"server\"");
                }
                Wait.until(
                        "the end of the connection is noticed",
                        () -> gateway.gateway.engine().stats().connections() == 0);
                assertThat(children()).isLessThanOrEqualTo(3);
            }
            for (HttpPeer peer : peers) {
                assertThat(peer.call(2, "who")).contains("\"id\":2").contains("\"server\"");
                assertThat(children()).isLessThanOrEqualTo(3);
            }
            assertThat(gateway.gateway.engine().stats().sessions()).isEqualTo(12);
        }
        assertThat(children()).isZero();
    }

    @Test
    void aNewcomerGets503WhereEveryChildIsInUseAndAPlaceAsSoonAsAClientHasLeft() {
        try (TestGateway gateway = atMost(2)) {
            HttpPeer first = HttpPeer.connected(gateway.url());
            HttpPeer second = HttpPeer.connected(gateway.url());
            ListeningSocket one = new ListeningSocket(first);
            try (ListeningSocket two = new ListeningSocket(second)) {
                ProcessHandle kept = TestGateway.server(second, 1);
                ProcessHandle ended = TestGateway.server(first, 1);
                HttpResponse<String> refused = newcomer(first);
                assertThat(refused.statusCode()).isEqualTo(503);
                assertThat(refused.headers().firstValue("Retry-After")).isPresent();
                assertThat(refused.body()).contains("every backend is in use");

                long start = System.nanoTime();
                one.close();
                Wait.until("there is a place", () -> newcomer(first).statusCode() == 200);

                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(AT_ONCE);
                Wait.until("the child is gone", () -> !ended.isAlive());
                assertThat(TestGateway.server(second, 2)).isEqualTo(kept);
            }
        }
    }

    @Test
    void aSessionThatIsDeletedMakesPlaceAtOnce() {
        try (TestGateway gateway = atMost(1)) {
            HttpPeer first = HttpPeer.connected(gateway.url());
            try (ListeningSocket listening = new ListeningSocket(first)) {
                assertThat(newcomer(first).statusCode()).isEqualTo(503);
                long start = System.nanoTime();
                assertThat(first.delete().statusCode()).isEqualTo(200);
                assertThat(newcomer(first).statusCode()).isEqualTo(200);
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(AT_ONCE);
            }
        }
    }

    @Test
    void aCallKeepsItsChildAndOneThatComesBackWaitsForIt() {
        try (TestGateway gateway = atMost(1)) {
            HttpPeer first = HttpPeer.connected(gateway.url());
            ProcessHandle before = TestGateway.server(first, 1);
            HttpPeer second = HttpPeer.connected(gateway.url());
            Wait.until("the child is gone", () -> !before.isAlive());
            var slow = second.posted(2, "slow");
            assertThat(Wait.until(slow).statusCode()).isEqualTo(200);

            assertThat(first.call(3, "who")).contains("\"server\"");

            assertThat(Wait.until(slow).body()).anyMatch(line -> line.contains("\"id\":2"));
            assertThat(children()).isOne();
        }
    }

    /** The GET that comes back to the stream of a call which runs for a moment. */
    private static ListeningSocket resumed(HttpPeer peer, int id) {
        Iterator<String> stream = Wait.until(peer.posted(id, "slow")).body().iterator();
        String priming = stream.next();
        assertThat(priming).startsWith("id: ");
        return ListeningSocket.after(peer, priming.substring("id: ".length()));
    }

    @Test
    void whatIsSentOnAConnectionThatIsWatchedIsServedWhenItsStreamHasEnded() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            try (ListeningSocket connection = resumed(peer, 1)) {
                connection.send(HEALTH);
                connection.readUntil("data: {\"jsonrpc\":\"2.0\",\"id\":1");
                connection.readUntil("HTTP/1.1 200 OK");
                connection.readUntil("{\"status\":\"ok\"");
            }
        }
    }

    @Test
    void aConnectionThatWasWatchedServesTheNextRequestWhenItsStreamHasEnded() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            try (ListeningSocket connection = resumed(peer, 1)) {
                connection.readUntil("data: {\"jsonrpc\":\"2.0\",\"id\":1");
                connection.readUntil("0");
                connection.send(HEALTH);
                connection.readUntil("HTTP/1.1 200 OK");
                connection.readUntil("{\"status\":\"ok\"");
            }
        }
    }
}

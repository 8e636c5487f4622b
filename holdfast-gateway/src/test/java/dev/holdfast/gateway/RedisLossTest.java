package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two gateways over one Redis that loses parts of a session. A client that comes back at the other gateway gets its answer, an error in
 * its place, or 404, and what was lost is counted; never an orderly end and nothing.
 */
@Timeout(120)
class RedisLossTest {
    private RedisServer redis = RedisServer.start();
    private TestGateway one = TestGateway.demo(store("one"));
    private TestGateway two = TestGateway.demo(store("two"));

    @AfterEach
    void stop() {
        one.close();
        two.close();
        redis.close();
    }

    private StoreChoice store(String node) {
        return new StoreChoice.Redis(
                RedisStore.builder(redis.url()).timeout(Wait.PATIENCE),
                new StoreChoice.Node(node, Wait.PATIENCE.plusSeconds(10)));
    }

    private static String call(String tool, String arguments) {
        return "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'" + tool + "','arguments':{" + arguments
                + "},'_meta':{'progressToken':1}}}";
    }

    /** Reads until a line has this part, then breaks off; the id of the last event. */
    private static String brokenOff(HttpPeer peer, String call, String part) {
        HttpResponse<Stream<String>> response = Wait.until(peer.posted(call));
        try (Stream<String> lines = response.body()) {
            String id = "";
            for (Iterator<String> at = lines.iterator(); at.hasNext(); ) {
                String line = at.next();
                id = line.startsWith("id:") ? line.substring(3).strip() : id;
                if (line.startsWith("data:") && line.contains(part)) {
                    return id;
                }
            }
        }
        throw new AssertionError("not there: " + part);
    }

    private static void ended(HttpPeer peer) {
        Wait.until("the call has ended", () -> peer.get("/stats").body().contains("\"runningCalls\":0"));
    }

    /** Removes the key of the only session that ends so. */
    private void lose(String end) {
        String key = redis.command("KEYS", "holdfast:{???????????????????????????????????????????}" + end);
        assertThat(key).isNotEmpty();
        redis.command("DEL", key);
    }

    private static boolean toldOfAGap(HttpPeer peer) {
        return !peer.get("/stats").body().contains("\"gaps\":0,");
    }

    @ParameterizedTest
    @CsvSource({"started, false", "with progress, true", "answered and unread, true", "answered and read, false"})
    void theSetOfASessionsEventsIsGone(String state, boolean misses) {
        HttpPeer here = HttpPeer.connected(one.url());
        // what it tells next while nobody reads must not be its response already
        String slow = call("slow", state.equals("with progress") ? "'ms':4000,'steps':10" : "'ms':900,'steps':3");
        String cursor;
        if (state.equals("started")) {
            cursor = brokenOff(here, call("slow", "'ms':900,'steps':1"), "");
        } else {
            cursor = brokenOff(here, slow, state.equals("answered and read") ? "\"result\"" : "\"progress\":1.0");
        }
        if (state.equals("with progress")) {
            String before = redis.command("ZCARD", redis.command("KEYS", "holdfast:{*}e"));
            Wait.until(
                    "it goes on", () -> !before.equals(redis.command("ZCARD", redis.command("KEYS", "holdfast:{*}e"))));
        } else if (!state.equals("started")) {
            ended(here);
        }
        if (!state.equals("started")) {
            lose("e");
        }
        HttpPeer there = here.at(two.url());
        HttpResponse<Stream<String>> again = Wait.until(there.resumed(cursor));
        if (state.equals("answered and read")) {
            assertThat(again.statusCode()).isEqualTo(204);
        } else {
            String all = String.join("\n", again.body().toList());
            assertThat(all).contains("\"id\":7,", state.startsWith("answered") ? "\"error\"" : "\"result\"");
        }
        assertThat(toldOfAGap(there)).isEqualTo(misses);
    }

    @Test
    void theResponseIsLostAndTheGatewayThatHadItToo() {
        HttpPeer here = HttpPeer.connected(one.url());
        String cursor = brokenOff(here, call("slow", "'ms':900,'steps':3"), "\"progress\":1.0");
        ended(here);
        one.close();
        lose("e");
        HttpPeer there = here.at(two.url());
        assertThat(Wait.until(there.resumed(cursor)).body()).anyMatch(line -> line.contains("is lost"));
        assertThat(toldOfAGap(there)).isTrue();
        one = TestGateway.demo(store("one"));
    }

    @Test
    void anOpenQuestionIsLost() {
        HttpPeer here = HttpPeer.connected(one.url());
        String cursor = brokenOff(here, call("elicit", ""), "");
        Wait.until("it asks", () -> !redis.command("KEYS", "holdfast:{*}e").isEmpty());
        lose("e");
        HttpPeer there = here.at(two.url());
        Wait.until(there.resumed(cursor)).body().close();
        assertThat(toldOfAGap(there)).isTrue();
    }

    @Test
    void whatIsKeptForAListenerIsLost() {
        HttpPeer here = HttpPeer.connected(one.url());
        String sent = here.post(call("notify", "'count':3,'tag':'t'")).body();
        assertThat(sent).contains("sent=3 of 3");
        lose("e");
        HttpPeer there = here.at(two.url());
        Wait.until(there.listened()).body().close();
        assertThat(toldOfAGap(there)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"started", "answered"})
    void theRecordIsGone(String state) {
        HttpPeer here = HttpPeer.connected(one.url());
        String cursor = brokenOff(here, call("slow", "'ms':900,'steps':3"), "\"progress\":1.0");
        if (state.equals("answered")) {
            ended(here);
        }
        lose("");
        HttpPeer there = here.at(two.url());
        assertThat(Wait.until(there.resumed(cursor)).statusCode()).isEqualTo(404);
        Wait.until(
                "it is gone where the call ran",
                () -> here.post("{'jsonrpc':'2.0','id':8,'method':'ping'}").statusCode() == 404);
    }

    /** What a real policy evicts is its own choice. */
    @Test
    void redisEvictsWhatItLikes() {
        stop();
        redis = RedisServer.start("--maxmemory-policy", "allkeys-random");
        one = TestGateway.demo(store("one"));
        two = TestGateway.demo(store("two"));
        List<HttpPeer> peers = new ArrayList<>();
        List<String> cursors = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            HttpPeer peer = HttpPeer.connected(one.url());
            peers.add(peer);
            cursors.add(brokenOff(peer, call("slow", "'ms':20,'steps':2"), "\"progress\":1.0"));
        }
        ended(peers.get(0));
        // 30 records, 30 sets of events, and what belongs to nodes
        redis.command("CONFIG", "SET", "maxmemory-samples", "1");
        String used = redis.command("INFO", "memory").replaceAll("(?s).*used_memory:(\\d+).*", "$1");
        redis.command("CONFIG", "SET", "maxmemory", "" + (Long.parseLong(used) - 40_000));
        Wait.until(
                "half of it is evicted",
                () -> redis.command("KEYS", "holdfast:{*}e").lines().count() < 20);
        redis.command("CONFIG", "SET", "maxmemory", "0");
        List<String> ends = new ArrayList<>();
        for (int i = 0; i < peers.size(); i++) {
            HttpPeer there = peers.get(i).at(two.url());
            String cursor = cursors.get(i);
            Wait.until("it is decided", () -> {
                HttpResponse<Stream<String>> again = Wait.until(there.resumed(cursor));
                String body = String.join("\n", again.body().toList());
                boolean retried = again.statusCode() == 503 || (body.contains("retry:") && !body.contains("\"id\":7"));
                if (!retried) {
                    ends.add(again.statusCode() == 200 ? body : "" + again.statusCode());
                }
                return !retried;
            });
        }
        assertThat(ends).allMatch(end -> end.contains("\"id\":7,") || end.equals("404"));
        assertThat(ends).anyMatch(end -> end.contains("is lost") || end.equals("404"));
    }
}

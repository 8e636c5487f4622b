package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a call on Redis costs, and a client that comes back at another node; docs/stores.md says these figures. */
@Tag("timing")
@Timeout(120)
class RedisCostTest {
    private static final int CALLS = 300;
    private static final int RETURNS = 25;
    private static final Pattern SCRIPTS = Pattern.compile("cmdstat_(?:evalsha|eval):calls=(\\d+)");

    private RedisServer redis;
    private TestGateway one;
    private TestGateway two;

    @BeforeEach
    void start() {
        redis = RedisServer.start();
        one = TestGateway.demo(store("one"));
        two = TestGateway.demo(store("two"));
    }

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

    private static String call(int id, String tool, String arguments) {
        return "{'jsonrpc':'2.0','id':" + id + ",'method':'tools/call','params':{'_meta':{'progressToken':" + id
                + "},'name':'" + tool + "','arguments':" + arguments + "}}";
    }

    private long scripts() {
        Matcher found = SCRIPTS.matcher(redis.command("INFO", "commandstats"));
        long sum = 0;
        while (found.find()) {
            sum += Long.parseLong(found.group(1));
        }
        return sum;
    }

    private static void echo(HttpPeer peer, int from, int count) {
        for (int id = from; id < from + count; id++) {
            assertThat(peer.post(call(id, "echo", "{'text':'hello'}")).body()).contains("hello");
        }
    }

    @Test
    void aCallAsksRedisOnce() {
        HttpPeer peer = HttpPeer.connected(one.url());
        echo(peer, 1, 20);
        long quietFrom = System.nanoTime();
        long before = scripts();
        echo(peer, 100, CALLS);
        double asked = (double) (scripts() - before) / CALLS;
        double seconds = (System.nanoTime() - quietFrom) / 1e9;
        // each of two nodes renews its lease and looks at its inbox now and then, and reads the tail of the session
        assertThat(asked).isLessThan(1 + 20 * seconds / CALLS);
    }

    @Test
    void whoComesBackAtAnotherNodeReadsOnAtOnce() {
        HttpPeer here = HttpPeer.connected(one.url());
        HttpPeer there = here.at(two.url());
        echo(there, 1, 5);
        List<Long> micros = new ArrayList<>();
        for (int id = 10; id < 10 + RETURNS; id++) {
            Iterator<String> lines = Wait.until(here.posted(call(id, "slow", "{'ms':300,'steps':30}")))
                    .body()
                    .iterator();
            String first = next(lines, "id: ").substring("id: ".length());
            for (int more = 0; more < 5; more++) {
                next(lines, "id: ");
            }
            long begun = System.nanoTime();
            try (ListeningSocket back = ListeningSocket.after(there, first)) {
                assertThat(back.readUntil("data: {")).contains("notifications/progress");
                micros.add((System.nanoTime() - begun) / 1_000);
            }
        }
        Collections.sort(micros);
        long median = micros.get(RETURNS / 2);
        assertThat(median).as("microseconds, of %s", micros).isLessThan(1_000_000);
    }

    private static String next(Iterator<String> lines, String begin) {
        while (lines.hasNext()) {
            String line = lines.next();
            if (line.startsWith(begin)) {
                return line;
            }
        }
        throw new AssertionError("the stream has ended before " + begin);
    }
}

package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EventId;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.redis.Line;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two gateways over a Redis with a replica, which becomes the master and lacks the last writes. The call of a client goes on: with what
 * it has not seen, where it has seen nothing of what is lost, else in silence up to its result; and no offset is given twice.
 */
@Timeout(120)
class RedisFailoverTest {
    private static final int STEPS = 9;
    /** Its tool only reads, and tells of as many steps as stand in a file; at the last one it answers. */
    private static final String SERVER = """
            while read -r line; do
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method":"tools/list"'*)
                  tool='{"name":"steps","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'
                  printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}\\n' "$id" "$tool" ;;
                *'"method":"tools/call"'*)
                  i=0
                  while [ $i -lt 9 ]; do
                    goal=$(cat "$0")
                    while [ $i -lt $goal ]; do
                      i=$((i+1))
                      printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%s}}\\n' $i
                    done
                    sleep 0.05
                  done
                  printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\\n' "$id" ;;
                *'"method"'*)
                  printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\\n' "$id" ;;
              esac
            done
            """;

    @TempDir
    private Path folder;

    private final RedisServer master = RedisServer.start();
    private final RedisServer replica = RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(master.port()));
    private final Line lineOfOne = new Line(master.port());
    private final Line lineOfTwo = new Line(master.port());
    private TestGateway one;
    private TestGateway two;
    /** What the client has got on all its connections, and the id of the last event. */
    private final List<Integer> progress = new ArrayList<>();

    private final List<Long> offsets = new ArrayList<>();
    private String cursor = "";
    private boolean answered;

    @BeforeEach
    void start() {
        Wait.until(
                "the replica is there",
                () -> replica.command("INFO", "replication").contains("master_link_status:up"));
        one = gateway(lineOfOne, "one");
        two = gateway(lineOfTwo, "two");
    }

    @AfterEach
    void stop() {
        // what it has begun to do for its sessions needs Redis
        lineOfOne.leadTo(replica.port());
        one.close();
        two.close();
        lineOfOne.close();
        lineOfTwo.close();
        replica.close();
        master.close();
    }

    private TestGateway gateway(Line line, String name) {
        ServerCommand command = new ServerCommand(
                List.of("/bin/sh", "-c", SERVER, folder.resolve("goal").toString()));
        StoreChoice store = new StoreChoice.Redis(
                RedisStore.builder(line.url()), new StoreChoice.Node(name, Duration.ofSeconds(5)));
        return TestGateway.of(command, store);
    }

    private void goal(int steps) {
        try {
            Path fresh = Files.writeString(folder.resolve("fresh"), Integer.toString(steps));
            Files.move(fresh, folder.resolve("goal"), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private Iterator<String> called(HttpPeer peer, int steps) {
        goal(steps);
        assertThat(peer.post("{'jsonrpc':'2.0','id':2,'method':'tools/list'}").body())
                .contains("readOnlyHint");
        return Wait.until(peer.posted("{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'steps',"
                        + "'arguments':{},'_meta':{'progressToken':1}}}"))
                .body()
                .iterator();
    }

    /** Reads up to so much progress, or to the end of the connection. */
    private void read(Iterator<String> lines, int upTo) {
        boolean there = false;
        while (!there && lines.hasNext()) {
            String line = lines.next();
            if (line.startsWith("id:")) {
                cursor = line.substring("id:".length()).strip();
            }
            if (line.startsWith("data: {")) {
                offsets.add(EventId.parse(cursor).orElseThrow().offset());
            }
            if (line.contains("\"progress\":")) {
                int step = Integer.parseInt(line.replaceAll(".*\"progress\":(\\d+).*", "$1"));
                progress.add(step);
                there = step == upTo;
            } else if (line.contains("\"id\":7,")) {
                answered |= line.contains("\"result\"");
            }
        }
    }

    /** Comes back until it has its answer. */
    private void comeBack(HttpPeer peer) {
        Wait.until("the answer comes", () -> {
            try (Stream<String> lines = Wait.until(peer.resumed(cursor)).body()) {
                read(lines.iterator(), STEPS + 1);
            }
            return answered;
        });
    }

    private void replicated() {
        String sent = replicationOffset(master, "master_repl_offset");
        Wait.until(
                "the replica has it",
                () -> Long.parseLong(replicationOffset(replica, "slave_repl_offset")) >= Long.parseLong(sent));
        replica.command("REPLICAOF", "127.0.0.1", "1");
    }

    private static String replicationOffset(RedisServer server, String name) {
        return server.command("INFO", "replication").replaceAll("(?s).*" + name + ":(\\d+).*", "$1");
    }

    private void failOver() {
        replica.command("REPLICAOF", "NO", "ONE");
        lineOfTwo.leadTo(replica.port());
        lineOfOne.leadTo(replica.port());
    }

    private void assertTold(HttpPeer there, List<Integer> expected) {
        assertThat(progress).isEqualTo(expected);
        assertThat(offsets).doesNotHaveDuplicates().isSorted();
        assertThat(there.get("/stats").body()).doesNotContain("\"gaps\":0,");
    }

    /** The client comes back to the gateway that has not run the call. */
    private void assertToldAtTheOther(HttpPeer here, List<Integer> expected) {
        HttpPeer there = here.at(two.url());
        comeBack(there);
        assertTold(there, expected);
    }

    private int written() {
        return Integer.parseInt(master.command("ZCARD", master.command("KEYS", "holdfast:{*}e")));
    }

    private static List<Integer> upTo(int last) {
        return IntStream.rangeClosed(1, last).boxed().toList();
    }

    /** What runs the call goes on with Redis, or is gone. */
    private void goesOnOrIsGone(boolean isGone) {
        if (isGone) {
            lineOfOne.leadTo(1);
        }
        goal(STEPS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoHasSeenWhatIsLostHearsOfTheCallAgainWhenItEnds(boolean isGone) {
        HttpPeer here = HttpPeer.connected(one.url());
        Iterator<String> lines = called(here, 2);
        read(lines, 2);
        replicated();
        goal(5);
        read(lines, 5);
        failOver();
        goesOnOrIsGone(isGone);
        assertToldAtTheOther(here, upTo(5));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoHasSeenNothingOfWhatIsLostIsToldAllTheRest(boolean isGone) {
        HttpPeer here = HttpPeer.connected(one.url());
        Iterator<String> lines = called(here, 2);
        read(lines, 2);
        replicated();
        int before = written();
        goal(5);
        Wait.until("it is written", () -> written() == before + 3);
        failOver();
        goesOnOrIsGone(isGone);
        assertToldAtTheOther(here, upTo(STEPS));
    }

    @Test
    void aCallThatHasEndedWhereNobodyKnowsOfThatAnyMoreRunsAgain() {
        HttpPeer here = HttpPeer.connected(one.url());
        read(called(here, 2), 2);
        replicated();
        goal(STEPS);
        Wait.until("it has ended", () -> here.get("/stats").body().contains("\"runningCalls\":0"));
        failOver();
        assertToldAtTheOther(here, upTo(STEPS));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoReadsAtTheOtherGatewayAllTheTimeGetsTheEnd(boolean isGone) {
        HttpPeer here = HttpPeer.connected(one.url());
        read(called(here, 1), 1);
        HttpPeer there = here.at(two.url());
        Iterator<String> lines = Wait.until(there.resumed(cursor)).body().iterator();
        goal(2);
        read(lines, 2);
        replicated();
        goal(5);
        read(lines, 5);
        failOver();
        goesOnOrIsGone(isGone);
        read(lines, STEPS + 1);
        if (!answered) {
            comeBack(there);
        }
        assertTold(there, upTo(5));
    }
}

package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.succeeds;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The connection to Redis breaks at any byte of a commit and of its answer: acknowledged or not, it is done once. */
@Tag("jdk")
class TornConnectionTest {
    private static final long CUTS = Long.getLong("holdfast.cuts", 20);

    private RedisServer server;
    private Line line;
    private RedisStore store;
    private final List<String> committed = new ArrayList<>();

    @BeforeEach
    void start() {
        server = RedisServer.start();
        line = new Line(server.port());
        store = RedisStore.builder(line.url()).timeout(Duration.ofSeconds(5)).open();
        await(store.create(KEY, FIRST, Given.record(), "node"));
    }

    @AfterEach
    void stop() {
        store.close();
        line.close();
        server.close();
    }

    @Test
    void aCommitThatIsCutAnywhereIsDoneOnce() {
        cutEverywhere(line::cutRequestAfter, bytesOfACommit(line::requested));
    }

    @Test
    void aCommitWhoseAnswerIsCutAnywhereIsDoneOnce() {
        cutEverywhere(line::cutReplyAfter, bytesOfACommit(line::replied));
    }

    private long bytesOfACommit(LongSupplier counted) {
        assertThat(commit(next())).isTrue();
        long before = counted.getAsLong();
        assertThat(commit(next())).isTrue();
        return counted.getAsLong() - before;
    }

    private void cutEverywhere(LongConsumer cut, long bytesOfACommit) {
        long cuts = Math.min(CUTS, bytesOfACommit - 1);
        assertThat(cuts).isPositive();
        for (long i = 0; i < cuts; i++) {
            long bytes = 1 + i * (bytesOfACommit - 1) / cuts;
            until("there is a connection", () -> succeeds(store.look(KEY)));
            String text = next();
            cut.accept(bytes);
            // whoever does not know whether a commit was done sends it again, under its number
            if (!commit(text)) {
                until("it is done", () -> commit(text));
            }
            assertThat(line.cuts()).as("cut after %s bytes", bytes).isEqualTo(i + 1);
            assertThat(Given.texts(store)).as("cut after %s bytes", bytes).isEqualTo(committed);
        }
    }

    private String next() {
        String text = "event " + (1000 + committed.size());
        committed.add(text);
        return text;
    }

    private boolean commit(String text) {
        Append append = all(unplaced(FIRST, text));
        return succeeds(store.commit(KEY, FIRST, committed.size(), append));
    }
}

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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The connection to Redis breaks at any byte of a commit and of its answer: acknowledged or not, it is done once. */
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
        store = RedisStore.builder(line.url()).timeout(Duration.ofSeconds(1)).open();
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
        cutEverywhere(line::cutRequestAfter, requestBytes());
    }

    @Test
    void aCommitWhoseAnswerIsCutAnywhereIsDoneOnce() {
        cutEverywhere(line::cutReplyAfter, 16);
    }

    /** How long a commit is on the line. */
    private long requestBytes() {
        commit(next());
        long before = line.requested();
        commit(next());
        return line.requested() - before;
    }

    private void cutEverywhere(LongConsumer cut, long most) {
        long failed = 0;
        long cuts = Math.min(CUTS, most - 1);
        for (long i = 0; i < cuts; i++) {
            long bytes = 1 + i * (most - 1) / cuts;
            until("there is a connection", () -> succeeds(store.look(KEY)));
            String text = next();
            cut.accept(bytes);
            // whoever does not know whether a commit was done sends it again, under its number
            boolean first = commit(text);
            failed += first ? 0 : 1;
            if (!first) {
                until("it is done", () -> commit(text));
            }
            assertThat(Given.texts(store)).as("cut after %s bytes", bytes).isEqualTo(committed);
        }
        assertThat(failed).as("commits that failed at first").isEqualTo(cuts);
    }

    private String next() {
        String text = "event " + (1000 + committed.size());
        committed.add(text);
        return text;
    }

    private boolean commit(String text) {
        Append append = all(unplaced(FIRST, text));
        until(
                "there is a connection",
                () -> succeeds(store.look(KEY)) || !store.trouble().isEmpty());
        return succeeds(store.commit(KEY, FIRST, committed.size(), append));
    }
}

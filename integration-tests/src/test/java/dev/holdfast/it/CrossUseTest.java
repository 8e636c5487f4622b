package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What belongs to one session opens nothing for another: neither for somebody else nor for another session of the same caller.
 * The answer is that to something unknown, and takes as long.
 */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(600)
class CrossUseTest {
    /** How many; each is asked beside an unknown one. */
    private static final int USES = Integer.getInteger("holdfast.crossuses", 1_000);

    private static final long SEED = Long.getLong("holdfast.seed", 4_711L);
    private static final List<CrossUse.Way> WAYS = List.of(CrossUse.Way.values());
    private static final String VICTIM = "alice";
    private static final String OTHER = "mallory";
    private static final String QUESTION = "question";

    private final ContainerKind kind;
    private TestServer server;
    private CrossUse cross;

    CrossUseTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .filter(new UserFilter())
                .options(options -> options.sseEndpoint("/sse")
                        .sseReconnectGracePeriod(Duration.ofMinutes(5))
                        .initializationTimeout(Duration.ofMinutes(30)))
                .tool(
                        QUESTION,
                        (exchange, request) -> exchange.createElicitation(ElicitFormRequest.builder(
                                                "What?", Map.of("type", "object", "properties", Map.of()))
                                        .build())
                                .map(result -> "answered " + result.action()))
                .start();
        cross = new CrossUse(server.port(), VICTIM, OTHER);
    }

    @AfterEach
    void stop() throws Exception {
        cross.close();
        server.close();
    }

    @Test
    void whatIsAnothersIsAnsweredLikeWhatIsUnknown() throws Exception {
        SplittableRandom random = new SplittableRandom(SEED);
        int before = server.holdfast().engine().size();
        Map<CrossUse.Way, Integer> done = new TreeMap<>();
        for (int i = 0; i < USES; i++) {
            CrossUse.Way way = WAYS.get(random.nextInt(WAYS.size()));
            CrossUse.Pair pair = cross.pair(way, random);
            KeptConnection.Outcome foreign = cross.ask(pair.foreign());
            KeptConnection.Outcome unknown = cross.ask(pair.unknown());
            assertThat(foreign)
                    .as("use %d of seed %d, %s: %s", i, SEED, way, pair)
                    .isEqualTo(unknown);
            assertThat(foreign.status()).as("%s", pair).isIn(way.answers());
            done.merge(way, 1, Integer::sum);
        }
        System.out.println(kind + ": " + done);

        assertThat(server.holdfast().engine().size()).isEqualTo(before);
        cross.assertVictimUnharmed();
    }

    @Test
    void whatIsAnothersTakesAsLongAsWhatIsUnknown() throws Exception {
        SplittableRandom random = new SplittableRandom(SEED);
        for (CrossUse.Way way : List.of(CrossUse.Way.CALL, CrossUse.Way.RESUME, CrossUse.Way.ENDPOINT)) {
            AnswerTimes times = new AnswerTimes(USES / 10, USES / 5);
            for (int i = 0; i < USES / 10 + USES / 5; i++) {
                CrossUse.Pair one = cross.pair(way, random);
                times.round(cross::ask, one.unknown(), cross.pair(way, random).unknown(), one.foreign());
            }
            System.out.println(kind + " " + way + ": " + times);
            times.assertAlike(way.toString());
        }
    }
}

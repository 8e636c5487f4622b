package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import java.time.Duration;
import java.util.ArrayList;
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
            CrossUse.Outcome foreign = cross.ask(pair.foreign());
            CrossUse.Outcome unknown = cross.ask(pair.unknown());
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
            Samples samples = new Samples();
            for (int i = 0; i < Samples.WARM_UP + Samples.COUNT; i++) {
                samples.round(cross, cross.pair(way, random), cross.pair(way, random), i);
            }
            System.out.println(kind + " " + way + ": " + samples);
            samples.assertAlike(way.toString());
        }
    }

    /** Times of answers, taken in turn: two of unknown things, which tell how much like follows like, and one of another's. */
    private static final class Samples {
        private static final int WARM_UP = USES / 10;
        private static final int COUNT = USES / 5;
        /** Kolmogorov and Smirnov: two samples of this size differ by more in less than one of a million cases. */
        private static final double CHANCE = 2.7 * Math.sqrt(2.0 / COUNT);

        private final List<Long> unknown = new ArrayList<>();
        private final List<Long> again = new ArrayList<>();
        private final List<Long> foreign = new ArrayList<>();

        void round(CrossUse cross, CrossUse.Pair one, CrossUse.Pair other, int round) throws Exception {
            // whoever comes first in a round must not matter
            for (int i = 0; i < 3; i++) {
                switch ((round + i) % 3) {
                    case 0 -> take(unknown, cross, one.unknown(), round);
                    case 1 -> take(again, cross, other.unknown(), round);
                    default -> take(foreign, cross, one.foreign(), round);
                }
            }
        }

        private static void take(List<Long> times, CrossUse cross, RawRequest request, int round) throws Exception {
            long start = System.nanoTime();
            cross.ask(request);
            if (round >= WARM_UP) {
                times.add(System.nanoTime() - start);
            }
        }

        /** The other's differ from the unknown no more than the unknown among themselves, but for chance. */
        void assertAlike(String what) {
            assertThat(distance(foreign, unknown))
                    .as("%s: %s", what, this)
                    .isLessThan(distance(again, unknown) + CHANCE);
        }

        /** The largest difference between the shares of both that are below any time. */
        private static double distance(List<Long> one, List<Long> other) {
            long[] a = one.stream().mapToLong(Long::longValue).sorted().toArray();
            long[] b = other.stream().mapToLong(Long::longValue).sorted().toArray();
            double largest = 0;
            for (int i = 0, j = 0; i < a.length && j < b.length; ) {
                long at = Math.min(a[i], b[j]);
                while (i < a.length && a[i] <= at) {
                    i++;
                }
                while (j < b.length && b[j] <= at) {
                    j++;
                }
                largest = Math.max(largest, Math.abs((double) i / a.length - (double) j / b.length));
            }
            return largest;
        }

        private static double median(List<Long> times) {
            return times.stream().sorted().skip(times.size() / 2).findFirst().orElseThrow() / 1e3;
        }

        @Override
        public String toString() {
            return String.format(
                    java.util.Locale.ROOT,
                    "medians in us: foreign %.1f, unknown %.1f and %.1f; distance foreign/unknown %.4f, unknown/unknown %.4f",
                    median(foreign),
                    median(unknown),
                    median(again),
                    distance(foreign, unknown),
                    distance(again, unknown));
        }
    }
}

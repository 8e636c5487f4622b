package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.spi.InboundMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * What a client has answered during a call that is run again, by chance: its backend asks in few words, again and again, its client
 * answers in any order, or with an error, backends give the call back, and processes die.
 */
class KeptAnswersTest {
    private static final int LIVES = Integer.getInteger("holdfast.lives", 300);
    private static final List<String> WORDS = List.of("who", "where");
    /** In each process; and so many processes run it. */
    private static final int STEPS = 12;

    private static final int RUNS = 3;
    private static final int MOST_RETURNS = 3;

    /** A question, or its answer. */
    private record Said(String words, int id) {}

    /** One call, and what it is expected to know. */
    private static final class Life {
        private final Random random;
        private final TestBed bed = TestBed.durable();
        private final String id;
        private Session session;
        private int last = 1;
        private int returns;
        /** Questions that have reached the client, in their order. */
        private final List<Said> open = new ArrayList<>();
        /** What the next run will know. */
        private final List<Said> kept = new ArrayList<>();
        /** Whether more of this run may be kept. */
        private boolean keeps = true;
        /** What this run knows, and has not asked. */
        private final List<Said> known = new ArrayList<>();
        /** What the backend is to hear. */
        private final List<String> heard = new ArrayList<>();

        private Life(long seed) {
            random = new Random(seed);
            bed.backend.harmless = "tools/call";
            session = bed.open();
            id = session.id();
            bed.post(session, 1);
            heard.add("tools/call 1");
        }

        private TestBackend.Life backend() {
            return bed.backend.life();
        }

        private void run() {
            for (int run = 1; run <= RUNS; run++) {
                for (int step = 0; step < STEPS; step++) {
                    step();
                    assertThat(backend().heard).isEqualTo(heard);
                }
                if (run < RUNS) {
                    bed.die();
                    session = bed.find(id, "").orElseThrow();
                    returns = 0;
                    again();
                }
            }
            backend().call(1).respond();
            bed.close();
        }

        private void step() {
            int choice = random.nextInt(10);
            if (choice < 5) {
                asks(WORDS.get(random.nextInt(WORDS.size())));
            } else if (choice < 9 && !open.isEmpty()) {
                answers(open.remove(random.nextInt(open.size())), random.nextInt(8) == 0);
            } else if (returns < MOST_RETURNS && random.nextInt(3) == 0) {
                returns++;
                backend()
                        .sink
                        .lost("it has done nothing", List.of(backend().call(1).request()));
                again();
            }
        }

        /** Another backend has the call. */
        private void again() {
            open.clear();
            keeps = true;
            known.clear();
            known.addAll(kept);
            heard.clear();
            heard.add("tools/call 1");
        }

        private void asks(String words) {
            Said question = new Said(words, ++last);
            Optional<Said> before =
                    known.stream().filter(said -> said.words.equals(words)).findFirst();
            backend().call(1).sink().send(Wire.question(words, question.id));
            before.ifPresentOrElse(
                    said -> {
                        known.remove(said);
                        heard.add("to " + said.id + "! " + question.id);
                    },
                    () -> open.add(question));
        }

        private void answers(Said question, boolean error) {
            InboundMessage answer =
                    error ? Wire.answer(Wire.id(question.id)) : Wire.answer("to " + question.id, question.id);
            assertThat(TestBed.now(session.answer(answer))).isTrue();
            heard.add(Wire.text(answer.bytes()));
            // of equal ones the older is to get its answer first
            keeps &= !error
                    && open.stream().noneMatch(older -> older.words.equals(question.words) && older.id < question.id);
            if (keeps) {
                kept.add(question);
            }
        }
    }

    @Test
    void eachRunGetsTheAnswersOfThoseBeforeInTheirOrder() {
        for (long seed = 1; seed <= LIVES; seed++) {
            Life life = new Life(seed);
            try {
                life.run();
            } catch (RuntimeException | AssertionError wrong) {
                throw new AssertionError("seed " + seed, wrong);
            }
        }
    }
}

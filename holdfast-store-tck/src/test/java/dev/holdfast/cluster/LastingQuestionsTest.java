package dev.holdfast.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.tck.MemoryCluster;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a node says of its store while it asks again and again. */
class LastingQuestionsTest {
    private static final String NODE = "node";

    private final Throwable full = new IllegalArgumentException("full");

    private final Deque<Runnable> later = new ArrayDeque<>();
    private final Deque<CompletableFuture<String>> answers = new ArrayDeque<>();
    private final List<String> heard = new ArrayList<>();
    private long now;
    private final Lease lease =
            new Lease(new MemoryCluster().bus(), Duration.ofMinutes(1), System::nanoTime, () -> NODE, new Deaf());
    private final LastingQuestions questions =
            new LastingQuestions(lease, () -> now, (task, millis) -> later.add(task), this::hears);

    private void hears(boolean works) {
        heard.add((works ? "works" : "fails") + (questions.unanswered() ? ", a question is open" : ""));
    }

    private static final class Deaf implements Lease.Hearer {
        @Override
        public void message(byte[] message) {}

        @Override
        public void lost() {}

        @Override
        public void busWorks(boolean works) {}
    }

    @BeforeEach
    void begin() {
        lease.tick();
        assertThat(lease.held(NODE)).isTrue();
    }

    private CompletableFuture<String> ask(CompletableFuture<String> first, CompletableFuture<String> then) {
        answers.addAll(List.of(first, then));
        return questions.ask(NODE, answers::remove, failure -> {}).toCompletableFuture();
    }

    /** Who looks at the same moment on another thread must not find it open after the last word. */
    @Test
    void aQuestionIsNotOpenAnyMoreWhenTheStoreIsSaidToWork() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.completedFuture("answer"));
        assertThat(heard).containsExactly("fails, a question is open");

        later.remove().run();

        assertThat(asked).isCompletedWithValue("answer");
        assertThat(heard).containsExactly("fails, a question is open", "works");
    }

    @Test
    void aDecisionOfTheStoreAgainstTheQuestionIsAnAnswerToo() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.failedFuture(new StaleEpochException(new Epoch(1, 1), new Epoch(2, 2))));

        later.remove().run();

        assertThat(asked).isCompletedExceptionally();
        assertThat(heard).containsExactly("fails, a question is open", "works");
        assertThat(questions.unanswered()).isFalse();
    }

    @Test
    void whatTheNodeItselfHasDecidedIsNoWordOfTheStore() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.failedFuture(new IllegalStateException("the session has left this node")));

        later.remove().run();

        assertThat(asked).isCompletedExceptionally();
        assertThat(heard).containsExactly("fails, a question is open");
        assertThat(questions.unanswered()).isFalse();
    }

    @Test
    void whoeverWaitsIsToldWhenItFailsForThreeSecondsAndNotAfterTheLeaseWasLost() {
        List<Throwable> told = new ArrayList<>();
        CompletionStage<String> asked = questions.ask(NODE, () -> CompletableFuture.failedFuture(full), told::add);
        now += TimeUnit.MILLISECONDS.toNanos(2_999);
        later.remove().run();
        assertThat(told).isEmpty();
        now += TimeUnit.MILLISECONDS.toNanos(1);
        later.remove().run();
        assertThat(told).containsExactly(full);
        later.remove().run();
        assertThat(told).containsExactly(full, full);

        CompletableFuture<String> late = new CompletableFuture<>();
        answers.add(late);
        CompletionStage<String> other = questions.ask(NODE, answers::remove, told::add);
        questions.giveUp();
        late.completeExceptionally(full);
        assertThat(List.of(asked, other)).allSatisfy(given -> assertThat(given).isCompletedExceptionally());
        assertThat(told).hasSize(2);
    }

    @Test
    void withoutALeaseNobodyWaitsForIt() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.completedFuture("too late"));

        questions.giveUp();

        assertThat(asked).isCompletedExceptionally();
        assertThat(questions.unanswered()).isFalse();
    }
}

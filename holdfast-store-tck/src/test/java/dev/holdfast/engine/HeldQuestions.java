package dev.holdfast.engine;

import dev.holdfast.engine.FlakyCluster.Question;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** What the network between a node and the shared store holds back, though nothing else is. */
final class HeldQuestions {
    private final Set<Question> held = EnumSet.noneOf(Question.class);
    private final Set<Question> answeredLate = EnumSet.noneOf(Question.class);
    private final List<CompletableFuture<Void>> waiting = new ArrayList<>();

    void hold(Question kind) {
        held.add(kind);
    }

    void holdAnswers(Question kind) {
        answeredLate.add(kind);
    }

    void holdNoMore(Question kind) {
        held.remove(kind);
    }

    /** Asks now, or when it is let go. */
    <T> CompletionStage<T> ask(Question kind, Supplier<CompletionStage<T>> question) {
        if (answeredLate.contains(kind)) {
            return question.get().thenCompose(answer -> turn().thenApply(now -> answer));
        }
        return held.contains(kind) ? later(question) : question.get();
    }

    /** Asks when it is let go. */
    <T> CompletionStage<T> later(Supplier<CompletionStage<T>> question) {
        return turn().thenCompose(now -> question.get());
    }

    private CompletionStage<Void> turn() {
        CompletableFuture<Void> turn = new CompletableFuture<>();
        waiting.add(turn);
        return turn;
    }

    void letGo() {
        held.clear();
        answeredLate.clear();
        List<CompletableFuture<Void>> all = List.copyOf(waiting);
        waiting.clear();
        all.forEach(one -> one.complete(null));
    }
}

package dev.holdfast.redis;

import dev.holdfast.redis.Connector.Commands;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Asks each master of a cluster for a key before a connection counts as ready. Lettuce connects to a master when the first command
 * goes there, and rejects that command.
 */
final class ClusterWarmUp {
    private static final long PAUSE_MILLIS = 10;
    private static final int MOST_ATTEMPTS = 20;

    private final String prefix;
    private final ScheduledExecutorService timer;

    ClusterWarmUp(String prefix, ScheduledExecutorService timer) {
        this.prefix = prefix;
        this.timer = timer;
    }

    /** Completes when every master has answered; one that cannot be reached is left out after a while. */
    CompletionStage<Commands> warm(Commands commands, Collection<RedisClusterNode> nodes) {
        List<CompletableFuture<Void>> answers = nodes.stream()
                .filter(node -> !node.getSlots().isEmpty())
                .map(node -> {
                    CompletableFuture<Void> answered = new CompletableFuture<>();
                    ask(commands, keyOn(node), 1, answered);
                    return answered;
                })
                .toList();
        return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .thenApply(all -> commands);
    }

    private byte[] keyOn(RedisClusterNode node) {
        return IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> Codec.text(prefix + i))
                .filter(key -> node.hasSlot(SlotHash.getSlot(key)))
                .findFirst()
                .orElseThrow();
    }

    private void ask(Commands commands, byte[] key, int attempt, CompletableFuture<Void> answered) {
        commands.async().exists(key).whenComplete((count, failure) -> {
            if (failure == null || attempt == MOST_ATTEMPTS) {
                answered.complete(null);
            } else {
                timer.schedule(() -> ask(commands, key, attempt + 1, answered), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
            }
        });
    }
}

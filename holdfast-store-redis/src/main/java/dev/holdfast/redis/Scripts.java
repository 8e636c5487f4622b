package dev.holdfast.redis;

import dev.holdfast.spi.TooLargeException;
import dev.holdfast.spi.UnreadableSessionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Runs scripts by their digests; a server that does not know one gets its source. */
final class Scripts {
    private final CommandConnection connection;
    private final LargeCommands large;
    private final Refusals refusals;

    Scripts(CommandConnection connection, LargeCommands large, Refusals refusals) {
        this.connection = connection;
        this.large = large;
        this.refusals = refusals;
    }

    /**
     * Runs a script.
     *
     * @param keys all in one slot
     * @param reader makes a value of what the script returns, or throws what the stage fails with
     * @param executor where the stage completes
     * @return fails with an {@link UnreadableSessionException} where a key holds something else than the script expects, with a {@link
     *     TooLargeException} where Redis never takes so much, and with a {@link RedisStoreException} where it does not answer or refuses
     */
    <T> CompletionStage<T> run(
            Script script, byte[][] keys, List<byte[]> arguments, Function<List<Object>, T> reader, Executor executor) {
        byte[][] values = arguments.toArray(byte[][]::new);
        CompletableFuture<T> result = new CompletableFuture<>();
        CompletionStage<List<Object>> known =
                send(values, redis -> redis.evalsha(script.digest(), ScriptOutputType.MULTI, keys, values));
        known.whenComplete((answer, failure) -> {
            if (failure != null && CommandConnection.cause(failure) instanceof RedisNoScriptException) {
                CompletionStage<List<Object>> sent =
                        send(values, redis -> redis.eval(script.source(), ScriptOutputType.MULTI, keys, values));
                sent.whenComplete((late, refused) -> {
                    refusals.ended(script, keys[0], refused);
                    executor.execute(() -> finish(result, reader, late, refused));
                });
            } else {
                refusals.ended(script, keys[0], failure);
                executor.execute(() -> finish(result, reader, answer, failure));
            }
        });
        return result;
    }

    private <T> CompletionStage<T> send(
            byte[][] values, Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command) {
        return LargeCommands.areLarge(values) ? large.run(values, command) : connection.run(command);
    }

    private <T> void finish(
            CompletableFuture<T> result,
            Function<List<Object>, T> reader,
            List<Object> answer,
            @Nullable Throwable failure) {
        if (failure != null) {
            result.completeExceptionally(told(CommandConnection.cause(failure)));
            return;
        }
        T value;
        try {
            value = reader.apply(answer);
        } catch (Throwable e) {
            result.completeExceptionally(e);
            return;
        }
        result.complete(value);
    }

    private Throwable told(Throwable failure) {
        if (failure instanceof RedisStoreException || failure instanceof TooLargeException) {
            return failure;
        }
        String message = failure.getMessage();
        return message != null && Refusals.isOfDamage(message)
                ? new UnreadableSessionException("a key of the session holds something else than was written", failure)
                : connection.unusable(failure);
    }
}

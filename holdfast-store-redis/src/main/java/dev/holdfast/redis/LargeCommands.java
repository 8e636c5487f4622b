package dev.holdfast.redis;

import dev.holdfast.redis.RedisConnector.Commands;
import dev.holdfast.spi.TooLargeException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisReadOnlyException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection of its own for large commands, one at a time: Redis, or a proxy before it, ends the connection that carries more than
 * it takes. So it is known which command that was, and nothing else is on its way there. A command is too large if a setting of the
 * server says so, or if its connection has ended each time that it was sent while small ones pass behind it. Commands of that size are
 * then refused at once for a while.
 */
final class LargeCommands implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(LargeCommands.class);

    /** A command of so many bytes is large: far less than the least limit that Redis knows, 1 MiB. */
    private static final int LEAST_BYTES = 256 << 10;

    private static final String VALUE_LIMIT = "proto-max-bulk-len";
    private static final String COMMAND_LIMIT = "client-query-buffer-limit";

    /** The first attempt may meet a connection that has ended while nobody used it. */
    private static final int MOST_ATTEMPTS = 3;

    private static final long REMEMBERED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final RedisConnector connector;
    private final String shown;
    private final long longestWaitNanos;
    private final OutageLog outage = new OutageLog();
    /** Completes with the last command that was given, and so has the next one sent. */
    private CompletionStage<?> turn = CompletableFuture.completedFuture(null);

    private volatile @Nullable Commands present;
    private volatile @Nullable Refused refused;
    private volatile boolean closed;

    /** The size of a command that was refused, the limit if it is known, and until when its like is refused at once. */
    private record Refused(long bytes, Optional<Limit> limit, long until) {}

    /** A setting of the server that a command exceeds. */
    private record Limit(String setting, long bytes) {}

    private record Task<T>(
            long bytes,
            long largest,
            long given,
            Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command) {}

    /**
     * @param longestWait how long a command may wait until it is sent
     */
    LargeCommands(RedisConnector connector, String shown, Duration longestWait) {
        this.connector = connector;
        this.shown = shown;
        this.longestWaitNanos = longestWait.toNanos();
    }

    static boolean areLarge(byte[][] arguments) {
        return bytes(arguments) >= LEAST_BYTES;
    }

    private static long bytes(byte[][] arguments) {
        long bytes = 0;
        for (byte[] argument : arguments) {
            bytes += argument.length;
        }
        return bytes;
    }

    /** Sends a command with these arguments after those before it; fails with a {@link TooLargeException} if it is too large. */
    <T> CompletionStage<T> run(
            byte[][] arguments, Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command) {
        long largest = 0;
        for (byte[] argument : arguments) {
            largest = Math.max(largest, argument.length);
        }
        Task<T> task = new Task<>(bytes(arguments), largest, System.nanoTime(), command);
        synchronized (this) {
            // on a thread of its own; once that is over, because the store is closed, the stage fails
            CompletionStage<T> done = turn.thenComposeAsync(before -> begin(task), connector.timer());
            // nothing of the command may stay here until the next one
            turn = done.handle((answer, failure) -> true);
            return done;
        }
    }

    private <T> CompletionStage<T> begin(Task<T> task) {
        Refused known = refused;
        Commands ready = present;
        if (known != null && task.bytes >= known.bytes && System.nanoTime() - known.until < 0) {
            return tooLarge(task, known.limit);
        }
        if (System.nanoTime() - task.given > longestWaitNanos) {
            return CompletableFuture.failedFuture(
                    new RedisStoreException(shown, "takes too long for the large values before this one"));
        }
        return ready == null
                ? connected(
                        new RedisStoreException(shown, "has no connection for large values"),
                        fresh -> send(task, fresh, 1))
                : send(task, ready, 1);
    }

    /** Goes on with another connection, or fails as given if there is none. */
    private <T> CompletionStage<T> connected(Throwable otherwise, Function<Commands, CompletionStage<T>> then) {
        return connector
                .connect()
                .handle((fresh, failure) -> {
                    if (failure != null) {
                        return CompletableFuture.<T>failedFuture(otherwise);
                    }
                    present = fresh;
                    if (closed) {
                        drop();
                    }
                    return then.apply(fresh);
                })
                .thenCompose(Function.identity());
    }

    private <T> CompletionStage<T> send(Task<T> task, Commands on, int attempt) {
        CompletionStage<T> sent;
        try {
            sent = task.command.apply(on.async());
        } catch (Throwable e) {
            sent = CompletableFuture.failedFuture(e);
        }
        return sent.handle((answer, failure) -> {
                    if (failure == null) {
                        outage.over(() -> logger.debug("{} takes large values", shown));
                        return CompletableFuture.completedFuture(answer);
                    }
                    Throwable cause = RedisConnections.cause(failure);
                    if (hasAnswered(cause)) {
                        return CompletableFuture.<T>failedFuture(cause);
                    }
                    drop();
                    return connected(cause, fresh -> look(task, fresh, attempt, cause));
                })
                .thenCompose(Function.identity());
    }

    /** Whether the server has answered so, and its connection goes on, or is not to blame. */
    private boolean hasAnswered(Throwable cause) {
        if (cause instanceof RedisReadOnlyException) {
            drop();
        }
        return cause instanceof RedisCommandExecutionException
                && !String.valueOf(cause.getMessage()).contains("Protocol error");
    }

    /** The connection has ended, and there is another one: asks whether the command was too large, or sends it again. */
    private <T> CompletionStage<T> look(Task<T> task, Commands fresh, int attempt, Throwable cause) {
        return limit(fresh, VALUE_LIMIT, task.largest)
                .thenCombine(limit(fresh, COMMAND_LIMIT, task.bytes), (value, whole) -> value.or(() -> whole))
                .handle((limit, failure) -> {
                    if (failure != null) {
                        drop();
                        return CompletableFuture.<T>failedFuture(cause);
                    }
                    return limit.isPresent() || attempt == MOST_ATTEMPTS
                            ? refuse(task, limit)
                            : send(task, fresh, attempt + 1);
                })
                .thenCompose(Function.identity());
    }

    private <T> CompletionStage<T> refuse(Task<T> task, Optional<Limit> limit) {
        refused = new Refused(task.bytes, limit, System.nanoTime() + REMEMBERED_NANOS);
        outage.begun(() -> logger.warn(
                "{} takes no {} bytes at once: {}",
                shown,
                task.bytes,
                limit.map(found -> found.setting + " is " + found.bytes + ". Raise it if such messages are wanted")
                        .orElse("it, or a proxy before it, has ended each connection that carried them")));
        return tooLarge(task, limit);
    }

    private <T> CompletionStage<T> tooLarge(Task<T> task, Optional<Limit> limit) {
        OptionalLong most = limit.map(found -> OptionalLong.of(found.bytes)).orElse(OptionalLong.empty());
        return CompletableFuture.failedFuture(
                new TooLargeException(shown + " takes no " + task.bytes + " bytes at once", most));
    }

    private void drop() {
        Commands last = present;
        present = null;
        if (last != null) {
            last.connection().closeAsync();
        }
    }

    /** A setting of the server that a size exceeds; empty if it does not, or the setting cannot be asked for. */
    private static CompletionStage<Optional<Limit>> limit(Commands on, String setting, long size) {
        return on.async().configGet(setting).handle((found, failure) -> {
            if (failure != null && !(RedisConnections.cause(failure) instanceof RedisCommandExecutionException)) {
                throw new CompletionException(RedisConnections.cause(failure));
            }
            long limit = failure == null ? Long.parseLong(found.getOrDefault(setting, "0")) : 0;
            return limit > 0 && size > limit ? Optional.of(new Limit(setting, limit)) : Optional.empty();
        });
    }

    @Override
    public void close() {
        closed = true;
        drop();
    }
}

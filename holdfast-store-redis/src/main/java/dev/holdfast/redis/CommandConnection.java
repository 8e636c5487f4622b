package dev.holdfast.redis;

import dev.holdfast.redis.RedisConnector.Commands;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisReadOnlyException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection for commands. A command that Redis does not answer in time fails, and all fail at once while there is no connection.
 * One that ends at a server which is no master any more is given up, and another one made.
 */
final class CommandConnection implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(CommandConnection.class);
    private static final long PAUSE_MILLIS = 200;

    private final RedisConnector connector;
    private final String shown;
    private final AtomicReference<@Nullable Commands> present = new AtomicReference<>();
    private final AtomicReference<@Nullable Throwable> trouble = new AtomicReference<>();
    private final OutageLog outage = new OutageLog();
    private volatile boolean closed;

    /** Takes a connection that is ready. */
    CommandConnection(RedisConnector connector, Commands first, String shown) {
        this.connector = connector;
        this.shown = shown;
        present.set(first);
    }

    /** Sends a command. The stage completes on a thread of the connection. */
    <T> CompletionStage<T> run(Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command) {
        Commands commands = present.get();
        if (commands == null) {
            return CompletableFuture.failedFuture(new RedisStoreException(shown, trouble.get()));
        }
        return command.apply(commands.async()).whenComplete((answer, failure) -> {
            if (failure == null) {
                answered();
            } else {
                failed(commands, cause(failure));
            }
        });
    }

    /** Why Redis cannot be reached; empty while it answers. */
    Optional<String> trouble() {
        return Optional.ofNullable(trouble.get()).map(cause -> new RedisStoreException(shown, cause).getMessage());
    }

    private void answered() {
        if (trouble.get() != null && trouble.getAndSet(null) != null) {
            outage.over(() -> logger.info("{} answers again", shown));
        }
    }

    private void failed(Commands commands, Throwable cause) {
        if (cause instanceof RedisReadOnlyException) {
            // a master that has become a replica
            replace(commands, cause);
        } else if (cause instanceof RedisCommandExecutionException) {
            answered();
        } else {
            note(cause);
        }
    }

    /** Why a command failed, without what a stage that depends on another one wraps it in. */
    static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    private void note(Throwable cause) {
        if (!closed) {
            trouble.set(cause);
            outage.begun(() -> logger.warn("{} does not answer: {}", shown, cause.toString()));
        }
    }

    private void replace(Commands old, Throwable cause) {
        if (present.compareAndSet(old, null)) {
            note(cause);
            old.connection().closeAsync();
            connect();
        }
    }

    private void connect() {
        if (closed) {
            return;
        }
        connector.connect().whenComplete((fresh, failure) -> {
            if (failure != null) {
                note(failure);
                connector.timer().schedule(this::connect, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                return;
            }
            answered();
            present.set(fresh);
            if (closed) {
                close();
            }
        });
    }

    @Override
    public void close() {
        closed = true;
        Commands last = present.getAndSet(null);
        if (last != null) {
            last.connection().closeAsync();
        }
    }
}

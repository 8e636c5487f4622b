package dev.holdfast.redis;

import dev.holdfast.redis.Connector.Commands;
import dev.holdfast.spi.TooLargeException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisReadOnlyException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection of its own for large commands, one at a time: Redis, or a proxy before it, ends the connection that carries more than
 * it takes. So it is known which command that was, and nothing else is on its way there. A command is too large if a setting of the
 * server says so, or if its connection has ended each time it was sent, and small ones pass behind it. The like is then refused at
 * once for a while.
 */
final class LargeCommands implements AutoCloseable {
    /** A command of so many bytes is large: far less than the least limit that Redis knows, 1 MiB. */
    static final int LEAST_BYTES = 256 << 10;

    private static final Logger logger = LoggerFactory.getLogger(LargeCommands.class);
    private static final String VALUE_LIMIT = "proto-max-bulk-len";
    private static final String COMMAND_LIMIT = "client-query-buffer-limit";

    /** The first may meet a connection that has ended while nobody used it. */
    private static final int MOST_ATTEMPTS = 3;

    private static final long REMEMBERED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Connector connector;
    private final String shown;
    private final long patienceNanos;
    private final Complaint complaint = new Complaint();
    private final Queue<Task<?>> waiting = new ArrayDeque<>();
    private boolean busy;
    private volatile @Nullable Commands present;
    private volatile @Nullable Refused refused;
    private volatile boolean closed;

    /** The size of a command, and what it says. */
    private record Refused(long bytes, OptionalLong limit, long until) {}

    /** A setting of the server that a command is beyond. */
    private record Limit(String setting, long bytes) {}

    /**
     * @param patience how long a command may wait until it is sent
     */
    LargeCommands(Connector connector, String shown, Duration patience) {
        this.connector = connector;
        this.shown = shown;
        this.patienceNanos = patience.toNanos();
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

    /** Sends a command with these arguments when those before it are over; fails with a {@link TooLargeException} if it is one too many. */
    <T> CompletionStage<T> run(
            byte[][] arguments, Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command) {
        Task<T> task = new Task<>(arguments, command);
        boolean first;
        synchronized (waiting) {
            waiting.add(task);
            first = !busy;
            busy = true;
        }
        if (first) {
            next();
        }
        return task.done;
    }

    private void next() {
        Task<?> task;
        synchronized (waiting) {
            task = waiting.poll();
            busy = task != null;
        }
        if (task != null) {
            task.begin();
        }
    }

    private void drop() {
        Commands last = present;
        present = null;
        if (last != null) {
            last.connection().closeAsync();
        }
    }

    /** One command, from its turn to its end. */
    private final class Task<T> {
        private final long bytes;
        private final long largest;
        private final Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command;
        private final CompletableFuture<T> done = new CompletableFuture<>();
        private final long given = System.nanoTime();
        private int attempts;

        private Task(
                byte[][] arguments, Function<RedisClusterAsyncCommands<byte[], byte[]>, CompletionStage<T>> command) {
            this.bytes = bytes(arguments);
            this.largest = Arrays.stream(arguments)
                    .mapToLong(argument -> argument.length)
                    .max()
                    .orElse(0);
            this.command = command;
        }

        private void begin() {
            Refused known = refused;
            Commands ready = present;
            if (known != null && bytes >= known.bytes && System.nanoTime() - known.until < 0) {
                fail(tooLarge(known.limit));
            } else if (System.nanoTime() - given > patienceNanos) {
                fail(new RedisStoreException(shown, "takes too long for the large values before this one"));
            } else if (ready == null) {
                connect(new RedisStoreException(shown, "has no connection for large values"), this::send);
            } else {
                send(ready);
            }
        }

        private void connect(Throwable otherwise, Consumer<Commands> then) {
            connector.connect().whenComplete((fresh, failure) -> {
                if (failure != null) {
                    fail(otherwise);
                    return;
                }
                present = fresh;
                if (closed) {
                    drop();
                }
                then.accept(fresh);
            });
        }

        private void send(Commands on) {
            attempts++;
            sent(on).whenComplete((answer, failure) -> {
                Throwable cause = failure == null ? null : CommandConnection.cause(failure);
                if (cause == null) {
                    complaint.over(() -> logger.debug("{} takes large values", shown));
                    over(() -> done.complete(answer));
                } else if (hasAnswered(cause)) {
                    fail(cause);
                } else {
                    drop();
                    connect(cause, fresh -> look(fresh, cause));
                }
            });
        }

        private CompletionStage<T> sent(Commands on) {
            try {
                return command.apply(on.async());
            } catch (Throwable e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        /** The connection has ended, and there is another one. */
        private void look(Commands fresh, Throwable cause) {
            limit(fresh, VALUE_LIMIT, largest)
                    .thenCombine(limit(fresh, COMMAND_LIMIT, bytes), (value, whole) -> value.or(() -> whole))
                    .whenComplete((limit, failure) -> {
                        if (failure != null) {
                            drop();
                            fail(cause);
                        } else if (limit.isPresent() || attempts == MOST_ATTEMPTS) {
                            refuse(limit);
                        } else {
                            send(fresh);
                        }
                    });
        }

        private void refuse(Optional<Limit> limit) {
            OptionalLong most = limit.map(found -> OptionalLong.of(found.bytes)).orElse(OptionalLong.empty());
            refused = new Refused(bytes, most, System.nanoTime() + REMEMBERED_NANOS);
            complaint.tell(() -> logger.warn(
                    "{} takes no {} bytes at once: {}",
                    shown,
                    bytes,
                    limit.map(found -> found.setting + " is " + found.bytes)
                            .orElse("it, or a proxy before it, has ended each connection that carried them")));
            fail(tooLarge(most));
        }

        private TooLargeException tooLarge(OptionalLong limit) {
            return new TooLargeException(shown + " takes no " + bytes + " bytes at once", limit);
        }

        private void fail(Throwable cause) {
            over(() -> done.completeExceptionally(cause));
        }

        /** Whoever is told may do much on this thread; the next one goes on another. */
        private void over(Runnable told) {
            try {
                connector.timer().execute(LargeCommands.this::next);
            } catch (RejectedExecutionException e) {
                next(); // closed: those that wait fail
            }
            told.run();
        }
    }

    /** Whether it was the server that has answered so, and its connection goes on, or is not to blame. */
    private boolean hasAnswered(Throwable cause) {
        if (cause instanceof RedisReadOnlyException) {
            drop();
        }
        return cause instanceof RedisCommandExecutionException
                && !String.valueOf(cause.getMessage()).contains("Protocol error");
    }

    /** A setting of the server, if a size is beyond it; empty where it is not, or cannot be asked for. */
    private static CompletionStage<Optional<Limit>> limit(Commands on, String setting, long size) {
        return on.async().configGet(setting).handle((found, failure) -> {
            if (failure != null && !(CommandConnection.cause(failure) instanceof RedisCommandExecutionException)) {
                throw new CompletionException(CommandConnection.cause(failure));
            }
            return failure == null ? beyond(setting, found, size) : Optional.<Limit>empty();
        });
    }

    private static Optional<Limit> beyond(String setting, Map<String, String> found, long size) {
        long limit = Long.parseLong(found.getOrDefault(setting, "0"));
        return limit > 0 && size > limit ? Optional.of(new Limit(setting, limit)) : Optional.empty();
    }

    @Override
    public void close() {
        closed = true;
        drop();
    }
}

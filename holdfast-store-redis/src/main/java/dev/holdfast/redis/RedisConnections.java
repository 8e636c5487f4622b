package dev.holdfast.redis;

import dev.holdfast.redis.RedisConnector.Commands;
import dev.holdfast.spi.TooLargeException;
import dev.holdfast.spi.UnreadableSessionException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisReadOnlyException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections and threads of a store, and what runs over them: commands, and scripts by their digests. A server that does not know a
 * script gets its source.
 *
 * <p>A command that Redis does not answer in time fails, and all fail at once while there is no connection. A connection that ends at a
 * server which is no master any more is given up, and another one made.
 */
final class RedisConnections implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(RedisConnections.class);
    private static final int LONGEST_OPENING_SECONDS = 120;
    private static final Pattern VERSION = Pattern.compile("(?m)^redis_version:(\\d+)\\.(\\d+)");
    private static final int OLDEST_VERSION = 602;
    private static final byte[] NO_TIME = {};
    private static final long PAUSE_MILLIS = 200;

    private final String shown;
    private final Optional<InstantSource> clock;
    private final RedisConnector connector;
    private final LargeCommands large;
    private final Refusals refusals;
    private final CallbackThreads callbacks =
            new CallbackThreads(Runtime.getRuntime().availableProcessors());
    private final AtomicReference<@Nullable Commands> present = new AtomicReference<>();
    private final AtomicReference<@Nullable Throwable> trouble = new AtomicReference<>();
    private final OutageLog outage = new OutageLog();
    private volatile boolean checked;
    private volatile boolean closed;

    /**
     * Connects, and checks the server.
     *
     * @param clock for tests: what scripts take for the time, instead of the clock of Redis
     */
    RedisConnections(RedisConnector.Settings settings, Optional<InstantSource> clock) {
        this.shown = settings.address().shown();
        this.clock = clock;
        this.connector = new RedisConnector(settings);
        this.large = new LargeCommands(connector, shown, settings.timeout());
        this.refusals = new Refusals(this);
        try {
            present.set(await(connector.connect()));
            check(await(run(redis -> redis.info())));
            checked = true;
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** Refuses a server that is too old, and warns of what may lose sessions. */
    private void check(String info) {
        Matcher version = VERSION.matcher(info);
        if (version.find()
                && Integer.parseInt(version.group(1)) * 100 + Integer.parseInt(version.group(2)) < OLDEST_VERSION) {
            throw new RedisStoreException(
                    shown, "is Redis " + version.group(1) + "." + version.group(2) + ", needed is 6.2 or newer");
        }
        List<String> lines = info.lines().toList();
        boolean evicts = !lines.contains("maxmemory:0") && !lines.contains("maxmemory_policy:noeviction");
        if (evicts && info.contains("maxmemory_policy:")) {
            logger.warn("{} may evict keys, and sessions with them: set maxmemory-policy noeviction", shown);
        }
        if (lines.contains("aof_enabled:0")) {
            logger.warn(
                    "{} has no append-only file: sessions are lost when it restarts. Set appendonly yes to keep them",
                    shown);
        }
    }

    /** Waits for what a store needs to be open. */
    <T> T await(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(LONGEST_OPENING_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw cause instanceof RedisStoreException told ? told : new RedisStoreException(shown, cause);
        } catch (TimeoutException e) {
            throw new RedisStoreException(shown, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RedisStoreException(shown, e);
        }
    }

    /** Where Redis is, for people. */
    String shown() {
        return shown;
    }

    RedisConnector connector() {
        return connector;
    }

    /** Takes note of what Redis refuses. */
    Refusals refusals() {
        return refusals;
    }

    /** The thread on which stages of a session, a node or whatever else complete, in the order of their answers. */
    Executor callbackOf(Object owner) {
        return callbacks.of(owner);
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
            if (!checked) {
                return; // who opens it is told
            }
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
                drop();
            }
        });
    }

    /**
     * Runs a script.
     *
     * @param keys all in one slot
     * @param owner on whose thread the stage completes
     * @param reader makes a value of what the script returns, or throws what the stage fails with
     * @param arguments what the script gets behind the time
     * @return fails with an {@link UnreadableSessionException} if a key holds something else than the script expects, with a {@link
     *     TooLargeException} if Redis never takes so much, and with a {@link RedisStoreException} if it does not answer or refuses
     */
    <T> CompletionStage<T> run(
            Script script, byte[][] keys, Object owner, Function<List<Object>, T> reader, byte[]... arguments) {
        // an empty time is that of the server
        byte[] time =
                clock.map(followed -> RedisCodec.digits(followed.millis())).orElse(NO_TIME);
        byte[][] values = RedisCodec.behind(time, arguments);
        Executor executor = callbackOf(owner);
        CompletableFuture<T> result = new CompletableFuture<>();
        CompletionStage<List<Object>> known =
                send(values, redis -> redis.evalsha(script.digest(), ScriptOutputType.MULTI, keys, values));
        known.whenComplete((answer, failure) -> {
            if (failure != null && cause(failure) instanceof RedisNoScriptException) {
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
        return LargeCommands.areLarge(values) ? large.run(values, command) : run(command);
    }

    private <T> void finish(
            CompletableFuture<T> result,
            Function<List<Object>, T> reader,
            List<Object> answer,
            @Nullable Throwable failure) {
        if (failure != null) {
            result.completeExceptionally(told(cause(failure)));
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
                : new RedisStoreException(shown, failure);
    }

    /** Why Redis cannot be used now; empty while it answers and refuses nothing. */
    Optional<String> trouble() {
        return Optional.ofNullable(trouble.get())
                .map(cause -> new RedisStoreException(shown, cause).getMessage())
                .or(() -> refusals.present().map(refusal -> shown + " " + refusal.what()));
    }

    /** Why Redis answers and does not do what it is asked. */
    Optional<String> refusal() {
        return trouble.get() == null ? refusals.present().map(Refusals.Refusal::words) : Optional.empty();
    }

    @Override
    public void close() {
        drop();
        large.close();
        connector.close();
        callbacks.close();
    }

    private void drop() {
        closed = true;
        Commands last = present.getAndSet(null);
        if (last != null) {
            last.connection().closeAsync();
        }
    }

    /** The threads on which stages complete, so that code that goes on there holds up no connection. */
    static final class CallbackThreads implements AutoCloseable {
        private static final AtomicInteger count = new AtomicInteger();

        private final List<ExecutorService> threads;

        CallbackThreads(int size) {
            threads = Stream.generate(CallbackThreads::single).limit(size).toList();
        }

        /** Once it is closed, stages complete on the thread that completes them. */
        private static ExecutorService single() {
            ThreadPoolExecutor thread = new ThreadPoolExecutor(
                    1,
                    1,
                    0,
                    TimeUnit.SECONDS,
                    new LinkedBlockingQueue<>(),
                    work -> {
                        Thread daemon = new Thread(work, "holdfast-redis-" + count.incrementAndGet());
                        daemon.setDaemon(true);
                        return daemon;
                    },
                    (task, pool) -> task.run());
            // the threads start now: a stage must complete also when the system has no more threads to give
            thread.prestartCoreThread();
            return thread;
        }

        private Executor of(Object owner) {
            return threads.get(Math.floorMod(owner.hashCode(), threads.size()));
        }

        @Override
        public void close() {
            threads.forEach(ExecutorService::shutdown);
        }
    }
}

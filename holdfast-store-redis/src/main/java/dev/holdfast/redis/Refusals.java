package dev.holdfast.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ZAddArgs;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether Redis answers, and yet does not do what it is asked. If it takes no writes of any session, because it is full, became a replica
 * or cannot use its disk, a write that changes nothing asks once a second whether that is over: a script that succeeds may be one that
 * makes room. Any other error that does not concern one session alone, such as a right that a user lacks, a command that is missing, or a
 * limit of a hosting service, is over when something of that kind succeeds, or was not asked for a while.
 */
final class Refusals {
    private static final Logger logger = LoggerFactory.getLogger(Refusals.class);
    private static final long ASK_MILLIS = 1_000;

    /** Redis 6.2 says of a script first where its error is, and Redis 7 last. */
    private static final String PLACE = "(?: script: \\w+, on @\\S+)?";

    private static final Pattern REFUSAL = Pattern.compile("(?:ERR Error running script .*: -)?"
            + "((?:OOM|READONLY|MISCONF|NOAUTH|WRONGPASS|LOADING|MASTERDOWN|CLUSTERDOWN|BUSY|NOREPLICAS) .*?)"
            + PLACE);

    /** Errors of a session that holds something else than was written. */
    private static final Pattern DAMAGED = Pattern.compile(".*(?:WRONGTYPE |is not an integer|data string too short"
            + "|bad argument #|attempt to (?!index global|call global)).*");

    /** Any other error: a place in the script, the words, another place, and arguments, which are left out. */
    private static final Pattern OTHER = Pattern.compile("(?:ERR (?=ACL |The user ))?"
            + "(?:ERR Error running script [^:]*: (?:@?\\w+: ?\\d+: )*-?)?(.*?)"
            + "(?:, with args beginning with.*)?" + PLACE);

    private static final int MOST_WORDS = 300;
    private static final long REMEMBERED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final RedisConnections connections;
    private final OutageLog outage = new OutageLog();

    /** What every write meets; it is asked again. */
    private final AtomicReference<@Nullable Refusal> ofAll = new AtomicReference<>();

    /** What something of one kind meets; others may pass. */
    private final AtomicReference<@Nullable Refusal> ofKind = new AtomicReference<>();

    /**
     * Something that was refused.
     *
     * @param kind what it was: a script, or another command
     * @param key one of its keys
     * @param words what Redis said
     * @param at when, in nanoseconds
     */
    record Refusal(Object kind, byte[] key, String words, long at) {
        private boolean isOfAll() {
            return REFUSAL.matcher(words).matches();
        }

        /** The end of a sentence about Redis. */
        String what() {
            return (isOfAll() ? "takes no writes: " : "refuses what it is asked: ") + words;
        }
    }

    Refusals(RedisConnections connections) {
        this.connections = connections;
    }

    private String shown() {
        return connections.shown();
    }

    /** What Redis refuses now; empty if it refuses nothing, as far as is known. */
    Optional<Refusal> present() {
        Refusal old = ofKind.get();
        if (old != null && System.nanoTime() - old.at > REMEMBERED_NANOS) {
            over(old);
        }
        return Stream.of(ofAll, ofKind)
                .map(AtomicReference::get)
                .filter(Objects::nonNull)
                .findFirst();
    }

    /** A script or another command has ended, with a failure or without one. */
    void ended(Object kind, byte[] key, @Nullable Throwable failure) {
        if (failure != null) {
            refusal(kind, key, failure).ifPresent(this::refused);
            return;
        }
        Refusal known = ofKind.get();
        if (known != null && known.kind.equals(kind)) {
            over(known);
        }
    }

    private static Optional<Refusal> refusal(Object kind, byte[] key, Throwable failure) {
        Throwable cause = RedisConnections.cause(failure);
        String message = cause.getMessage();
        if (!(cause instanceof RedisCommandExecutionException) || message == null) {
            return Optional.empty();
        }
        return words(message).map(said -> new Refusal(kind, key, said, System.nanoTime()));
    }

    /** Whether an error says that a session holds something else than was written. */
    static boolean isOfDamage(String error) {
        return DAMAGED.matcher(error).matches();
    }

    /** The words of an error that does not concern one session alone; empty for one that does. */
    static Optional<String> words(String error) {
        String line = error.replaceAll("\\p{Cntrl}", " ");
        return Stream.of(REFUSAL, OTHER)
                .map(kind -> kind.matcher(line))
                .filter(found -> found.matches() && !isOfDamage(line) && !line.startsWith("NOSCRIPT "))
                .map(found -> found.group(1))
                .map(words -> words.substring(0, Math.min(words.length(), MOST_WORDS)))
                .findFirst();
    }

    private void refused(Refusal now) {
        if (now.isOfAll()) {
            if (ofAll.compareAndSet(null, now)) {
                askLater(now);
            }
        } else {
            ofKind.updateAndGet(known -> known == null || known.kind.equals(now.kind) ? now : known);
        }
        tell(now);
    }

    private void tell(Refusal refusal) {
        outage.begun(() -> logger.warn("{} {}", shown(), refusal.what()));
    }

    private void askLater(Refusal refusal) {
        try {
            ScheduledFuture<?> unused =
                    connections.connector().timer().schedule(() -> ask(refusal), ASK_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            logger.debug("the store is closed: it is not asked any more whether {} takes writes", shown(), e);
        }
    }

    private void ask(Refusal refusal) {
        // refused like any other write, but no such member is there, and so nothing changes
        CompletionStage<Long> asked =
                connections.run(redis -> redis.zadd(refusal.key, ZAddArgs.Builder.xx(), 0, new byte[0]));
        asked.whenComplete((added, failure) -> {
            Optional<Refusal> again = Optional.ofNullable(failure)
                    .flatMap(cause -> refusal(refusal.kind, refusal.key, cause))
                    .filter(Refusal::isOfAll);
            if (again.isPresent()) {
                Refusal now = again.get();
                ofAll.set(now);
                tell(now);
                askLater(now);
            } else if (failure == null || RedisConnections.cause(failure) instanceof RedisCommandExecutionException) {
                // the key may hold something else, or this user may not ask
                over(refusal);
            } else {
                askLater(refusal);
            }
        });
    }

    private void over(Refusal refusal) {
        boolean was = ofAll.compareAndSet(refusal, null) || ofKind.compareAndSet(refusal, null);
        if (was && present().isEmpty()) {
            outage.over(() ->
                    logger.info("{} {} again", shown(), refusal.isOfAll() ? "takes writes" : "does what it is asked"));
        }
    }
}

package dev.holdfast.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ZAddArgs;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether Redis answers, and yet takes no writes, of whatever session: it is full, became a replica, cannot use its disk, or does not
 * let its user. Then a write that changes nothing asks once a second whether that is over: a script that has succeeded may have been
 * one that makes room. What a user may not do is asked by the next script of that kind alone.
 */
final class Refusals {
    private static final Logger logger = LoggerFactory.getLogger(Refusals.class);
    private static final long ASK_MILLIS = 1_000;

    /** Redis 6.2 says of a script first where its error is, and Redis 7 last. */
    private static final String PLACE = "(?: script: \\w+, on @\\S+)?";

    private static final Pattern REFUSAL = Pattern.compile("(?:ERR Error running script .*: -)?"
            + "((?:OOM|READONLY|MISCONF|NOAUTH|WRONGPASS|LOADING|MASTERDOWN|CLUSTERDOWN|BUSY|NOREPLICAS) .*?)"
            + PLACE);

    /** This user may not do it, but perhaps something else: a command; or one in a script, in Redis 7.2 and before it. */
    private static final Pattern RIGHTS = Pattern.compile("(?:ERR (?:Error running script .*: )?)?"
            + "((?:NOPERM |ACL failure in script|The user executing the script can't).*?)"
            + PLACE);

    private final CommandConnection connection;
    private final ScheduledExecutorService timer;
    private final String shown;
    private final Complaint complaint = new Complaint();
    private final AtomicReference<@Nullable Refusal> present = new AtomicReference<>();

    /**
     * A script that was refused.
     *
     * @param key one of its keys
     * @param words what Redis said
     */
    private record Refusal(Script script, byte[] key, String words) {
        /** Whether this user may not do it, but may do something else. */
        private boolean isOfRights() {
            return RIGHTS.matcher(words).matches();
        }
    }

    Refusals(CommandConnection connection, ScheduledExecutorService timer, String shown) {
        this.connection = connection;
        this.timer = timer;
        this.shown = shown;
    }

    /** Redis' own words for why it takes no writes; empty while it takes them, as far as is known. */
    Optional<String> present() {
        return Optional.ofNullable(present.get()).map(Refusal::words);
    }

    /** A script has ended, with a failure or without one. */
    void ended(Script script, byte[] key, @Nullable Throwable failure) {
        Refusal before = present.get();
        if (failure != null) {
            refusal(script, key, failure).ifPresent(refusal -> refused(before, refusal));
        } else if (before != null && before.isOfRights() && before.script == script) {
            over(before);
        }
    }

    private static Optional<Refusal> refusal(Script script, byte[] key, Throwable failure) {
        Throwable cause = CommandConnection.cause(failure);
        String message = cause.getMessage();
        if (!(cause instanceof RedisCommandExecutionException) || message == null) {
            return Optional.empty();
        }
        return words(message).map(said -> new Refusal(script, key, said));
    }

    /** What an error says that concerns all sessions; empty for another one. */
    static Optional<String> words(String error) {
        return Stream.of(REFUSAL, RIGHTS)
                .map(kind -> kind.matcher(error))
                .filter(Matcher::matches)
                .map(found -> found.group(1))
                .findFirst();
    }

    private void refused(@Nullable Refusal before, Refusal now) {
        if (before == null && present.compareAndSet(null, now)) {
            askLater(now);
        }
        complaint.tell(() -> logger.warn("{} takes no writes: {}", shown, now.words));
    }

    private void askLater(Refusal refusal) {
        if (refusal.isOfRights()) {
            return;
        }
        try {
            ScheduledFuture<?> unused = timer.schedule(() -> ask(refusal), ASK_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            logger.debug("nobody asks whether {} takes writes again: the store is closed", shown, e);
        }
    }

    private void ask(Refusal refusal) {
        // refused like any other write, but no such member is there, and so nothing changes
        CompletionStage<Long> asked =
                connection.run(redis -> redis.zadd(refusal.key, ZAddArgs.Builder.xx(), 0, new byte[0]));
        asked.whenComplete((added, failure) -> {
            Optional<Refusal> again =
                    failure == null ? Optional.empty() : refusal(refusal.script, refusal.key, failure);
            if (again.isPresent()) {
                Refusal now = again.get();
                present.set(now);
                refused(refusal, now);
                askLater(now);
            } else if (failure == null || CommandConnection.cause(failure) instanceof RedisCommandExecutionException) {
                // be it that the key holds something else
                over(refusal);
            } else {
                askLater(refusal);
            }
        });
    }

    private void over(Refusal refusal) {
        if (present.compareAndSet(refusal, null)) {
            complaint.over(() -> logger.info("{} takes writes again", shown));
        }
    }
}

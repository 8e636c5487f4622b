package dev.holdfast.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ZAddArgs;
import java.util.Objects;
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

    /** What every write meets: it is asked again. */
    private final AtomicReference<@Nullable Refusal> ofAll = new AtomicReference<>();

    /** What this user may not do; other writes may pass. */
    private final AtomicReference<@Nullable Refusal> ofRights = new AtomicReference<>();

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
        return Stream.of(ofAll, ofRights)
                .map(AtomicReference::get)
                .filter(Objects::nonNull)
                .map(Refusal::words)
                .findFirst();
    }

    /** A script has ended, with a failure or without one. */
    void ended(Script script, byte[] key, @Nullable Throwable failure) {
        if (failure != null) {
            refusal(script, key, failure).ifPresent(this::refused);
            return;
        }
        Refusal forbidden = ofRights.get();
        if (forbidden != null && forbidden.script == script) {
            over(forbidden);
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

    private void refused(Refusal now) {
        if (kept(now).compareAndSet(null, now) && !now.isOfRights()) {
            askLater(now);
        }
        tell(now);
    }

    private AtomicReference<@Nullable Refusal> kept(Refusal refusal) {
        return refusal.isOfRights() ? ofRights : ofAll;
    }

    private void tell(Refusal refusal) {
        complaint.tell(() -> logger.warn("{} takes no writes: {}", shown, refusal.words));
    }

    private void askLater(Refusal refusal) {
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
            Optional<Refusal> again = Optional.ofNullable(failure)
                    .flatMap(cause -> refusal(refusal.script, refusal.key, cause))
                    .filter(now -> !now.isOfRights());
            if (again.isPresent()) {
                Refusal now = again.get();
                ofAll.set(now);
                tell(now);
                askLater(now);
            } else if (failure == null || CommandConnection.cause(failure) instanceof RedisCommandExecutionException) {
                // be it that the key holds something else, or that this user may not ask
                over(refusal);
            } else {
                askLater(refusal);
            }
        });
    }

    private void over(Refusal refusal) {
        if (kept(refusal).compareAndSet(refusal, null) && present().isEmpty()) {
            complaint.over(() -> logger.info("{} takes writes again", shown));
        }
    }
}

package dev.holdfast.cluster;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A {@link SessionStore} that several nodes use at once, each session too. A node joins a session before it uses it: it gets an
 * epoch of its own, under which it commits, beside the epochs of the others. An epoch is <em>present</em> from its join on, until
 * somebody fences it; nothing is committed under one that is not. A {@link #claim} is the join that fences everybody else, and what
 * {@link SessionStore} says of the present epoch of a session that is only claimed holds here too.
 *
 * <p>A node is named by its incarnation, which the {@link #bus} knows. Whether an incarnation lives is never asked here: an epoch
 * stays present when its incarnation has died, until somebody fences it.
 *
 * <p>Each method but {@link #tail} is one step for whoever else uses the session: it happens whole, or not at all. Every method may
 * be called from any thread and must not block. A stage that fails with another exception than those named below says that the store
 * could not do it, or does not know whether it did; it fails in a bounded time.
 */
public interface SharedSessionStore extends SessionStore {
    /** The number of a commit that is done whenever it comes. */
    long UNNUMBERED = 0;

    /** The value of a token that nobody has set. */
    long NO_TOKEN = 0;

    /** How many of the sessions that count are told to whoever finds no room among them. */
    int COUNTED_TOLD = 8;

    /** Makes an engine one of the nodes, by {@code ClusterNodes.sharing}, which takes this store. */
    @Override
    Optional<ClusterSupport> cluster();

    /** Returns what tells nodes of each other; always the same. */
    ClusterBus bus();

    /**
     * Creates a session under its first epoch, which is present in the hands of a node; fails with an {@link IllegalStateException} if
     * the key exists.
     *
     * @param node the incarnation, empty for none
     */
    CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node);

    /** Creates a session in the hands of no node. */
    @Override
    default CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return create(key, epoch, record, "");
    }

    /**
     * Joins a session: counts its next epoch, makes it present beside those that are, and returns what is kept; empty where no such
     * session exists. A join whose answer was lost is joined again, with another nonce; the lost epoch is fenced like one of the dead.
     *
     * @param nonce the random half of the next epoch, drawn for this join
     * @param node the incarnation that joins
     */
    CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node);

    /**
     * Fences an epoch, so that nothing is committed under it any more; nothing happens where it is not present, or no such session
     * exists. Fencing does not renew a session, and a session without present epochs stays until it expires.
     *
     * @return whether this call has fenced it
     */
    CompletionStage<Boolean> fence(SessionKey key, Epoch epoch);

    /** Returns the present epochs, oldest first; none for a session that is not there. */
    CompletionStage<List<Member>> members(SessionKey key);

    /**
     * Commits all of it or nothing, in the order of the calls, once: a commit that comes again under its epoch and number does
     * nothing, and gets the answer of the first. The numbers of an epoch count from 1; the store remembers the last one and its answer.
     *
     * <p>Events of the listening stream whose offset is {@link Event#UNPLACED} get the next offsets of that stream, in order. All other
     * events have theirs from whoever writes their stream: the next one, or one behind {@link #LEFT_OUT} that are left out.
     *
     * <p>Fails with a {@link StaleEpochException} under an epoch that is not present, or under a number that is neither the last one
     * nor the next: then commits of this epoch are lost. Fails with an {@link IllegalStateException} for a session that is not there.
     *
     * @param number the number of the commit, or {@link #UNNUMBERED}
     */
    CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append);

    /** Commits without a number. */
    @Override
    default CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        commit(key, epoch, UNNUMBERED, append).whenComplete((appended, failure) -> {
            if (failure == null) {
                done.complete(null);
            } else {
                done.completeExceptionally(failure);
            }
        });
        return done;
    }

    /**
     * Sets a token of a stream if it has the expected value, and returns the value that it has then. A token that was never set is
     * {@link #NO_TOKEN}; to ask for one, expect what you set. Fails with a {@link StaleEpochException} under an epoch that is not
     * present, and with an {@link IllegalStateException} for a session that is not there. The tokens of a stream that is not known, and
     * whose call does not run, may be forgotten.
     *
     * @param epoch the epoch of whoever sets it
     * @param part which of the stream's tokens
     * @param expected the value that it must have to be set
     * @param token the value that it gets
     */
    CompletionStage<Long> token(SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token);

    /**
     * Calls {@code hinted} soon after each commit to a session, and after its deletion, whichever node made it, until the tail is
     * closed. Never fails. A hint may come without a cause, one may stand for many, and one may be lost while the store cannot be
     * reached: whoever tails reads from time to time without a hint too.
     *
     * @param hinted called on any thread; must not block
     */
    Tail tail(SessionKey key, Runnable hinted);

    /**
     * Removes a session, and returns the epochs that were present until then, oldest first; none where there is no session, or none that
     * can be read.
     */
    CompletionStage<List<Member>> remove(SessionKey key);

    @Override
    default CompletionStage<Void> delete(SessionKey key) {
        return remove(key).thenAccept(members -> {});
    }

    /**
     * Removes a session, unless another epoch than this one is present; then it stays as it is.
     *
     * @return whether it is not there now; false where it stays
     */
    @Override
    CompletionStage<Boolean> delete(SessionKey key, Epoch epoch);

    /**
     * Counts a session among those of a principal until a time; one that counts already does so until the later of both times. Nothing
     * happens where it does not count yet, and as many others as may do. It is counted by this alone: whether there is such a session is
     * not asked, and no other method counts one or ends that it counts.
     *
     * @param principal whose session it is, not empty
     * @param until when it does not count any more, in milliseconds since 1970
     * @param most how many sessions of the principal may count, at least 1
     */
    CompletionStage<Counted> count(String principal, SessionKey key, long until, int most);

    /** Lets a session not count among those of a principal any more; no error where it did not. */
    CompletionStage<Void> uncount(String principal, SessionKey key);

    /** Who owns a stream's part: of each at most one in the cluster. */
    enum Part {
        /** The connection that reads the stream. */
        READER,
        /** The epoch that ends the stream of a call whose node has died. */
        HEIR,
        /** Of the listening stream: the epoch that has the session's backend, where that exists once. */
        BACKEND
    }

    /**
     * A session that was joined.
     *
     * @param claim its epoch and what is kept
     * @param version the version of its journal, as in {@link Appended}
     */
    record Joined(Claim claim, long version) {}

    /**
     * An epoch that is present.
     *
     * @param node the incarnation that joined under it, empty for none
     */
    record Member(Epoch epoch, String node) {}

    /**
     * What a commit has done.
     *
     * @param listening the last offset that the listening stream ever had: events without a place of their own got this offset and
     *     those before it
     * @param version how many commits have changed the record's journal so far, this one included
     */
    record Appended(long listening, long version) {}

    /**
     * What became of a session that was to be counted.
     *
     * @param counts whether it counts
     * @param first where it does not, those that do: the one whose time passes first comes first, at most {@link #COUNTED_TOLD} of them
     */
    record Counted(boolean counts, List<SessionKey> first) {}

    /** Listens for hints. */
    interface Tail extends AutoCloseable {
        /** Stops; a hint that is on its way may still come. */
        @Override
        void close();
    }
}

package dev.holdfast.cluster;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * What tells the nodes of a cluster of each other: which incarnations live, and a way to send them messages. An incarnation is one
 * life of a node; its name is unique for ever. It lives as long as its lease, by the clock of whatever carries the bus, and has an
 * inbox for so long.
 *
 * <p>Every method may be called from any thread and must not block. A stage that fails says that the bus could not do it, or does not
 * know whether it did; it fails in a bounded time.
 */
public interface ClusterBus {
    /** How many messages an inbox holds at least, before it takes no more. */
    int INBOX_MESSAGES = 10_000;

    /** How many bytes of messages an inbox holds at least, before it takes no more: one more message fills it. */
    int INBOX_BYTES = 64 << 20;

    /**
     * How long at most what it carries may take to answer: the lease of a node must be longer, for else one late answer would end it.
     * Zero where nobody knows.
     */
    default Duration answersWithin() {
        return Duration.ZERO;
    }

    /** Begins a lease: the incarnation lives, and its inbox is empty. Fails with an {@link IllegalStateException} if it lives already. */
    CompletionStage<Void> begin(String node, Duration lease);

    /**
     * Renews a lease: it lasts for this time from now on.
     *
     * @return false where it has lapsed or was ended; the incarnation does not live any more then, and never will
     */
    CompletionStage<Boolean> renew(String node, Duration lease);

    /** Ends a lease, and forgets the inbox; no error where there is none. */
    CompletionStage<Void> end(String node);

    /** Returns the incarnations that live. */
    CompletionStage<Set<String>> living();

    /**
     * Puts a message into an inbox.
     *
     * @param message never changed afterwards
     * @return false where no such incarnation lives, or its inbox is full, by the number of its messages or by their bytes
     */
    CompletionStage<Boolean> send(String node, byte[] message);

    /**
     * Hands over the messages of an inbox, each once at most, those of one sender in the order of their sending, one at a time, until
     * the inbox is closed. Messages that came before are handed over too. Never fails; goes on when the bus works again, and after a
     * handler has thrown. An inbox has one receiver, from the beginning of its lease on.
     *
     * @param handler called on any thread; must not block
     */
    Inbox receive(String node, Consumer<byte[]> handler);

    /** Receives messages. */
    interface Inbox extends AutoCloseable {
        /** Stops; a message that is on its way may still be handed over. */
        @Override
        void close();
    }
}

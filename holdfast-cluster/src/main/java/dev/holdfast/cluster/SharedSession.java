package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveCall.Cancellation;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.StoreQuestion.UnreadableException;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A session as those who talk to its client use it, on one node of several: calls run here, with streams of their own; what other
 * nodes have of it is read from the store, and reached through their inboxes.
 */
final class SharedSession implements Session {
    private final LiveSession here;
    private final ClusterMembership.Host engine;
    private final ClusterWriter store;
    private final SharedReaders readers;
    private final JournalVersions versions;
    private final BackendInbox inbox;
    private final Optional<CallForwarder> forwarder;

    /**
     * @param forwarder the way to the node that has the backend, where that exists once
     */
    SharedSession(
            LiveSession here,
            ClusterMembership.Host engine,
            ClusterWriter store,
            SharedReaders readers,
            JournalVersions versions,
            BackendInbox inbox,
            Optional<CallForwarder> forwarder) {
        this.here = here;
        this.engine = engine;
        this.store = store;
        this.readers = readers;
        this.versions = versions;
        this.inbox = inbox;
        this.forwarder = forwarder;
    }

    @Override
    public String id() {
        return here.id();
    }

    @Override
    public String shortId() {
        return here.shortId();
    }

    @Override
    public String revision() {
        return here.revision();
    }

    @Override
    public boolean listensOnly() {
        return here.listensOnly();
    }

    @Override
    public SessionState state() {
        return here.state();
    }

    /** Asks; how it fails is one. Where what the store has will never be readable, the session ends. */
    private <T> CompletionStage<T> ask(Supplier<CompletionStage<T>> question) {
        return StoreQuestion.ask(question).whenComplete((answer, failure) -> {
            if (LastingQuestions.causeOf(failure) instanceof UnreadableException lost) {
                here.unreadable(lost);
            }
        });
    }

    @Override
    public CompletionStage<Call.Outcome> call(List<InboundMessage> requests) {
        if (!engine.storeWorks()) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(null));
        }
        return forwarder.isPresent()
                ? ask(() -> forwarder.get().call(here, requests))
                : here.call(requests).thenCompose(outcome -> versions.catchUpFor(here, outcome));
    }

    @Override
    public CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
        if (!(notification.journal() instanceof JournalChange.None) && !engine.storeWorks()) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(null));
        }
        if (forwarder.isPresent()) {
            return ask(() -> forwarder.get().notify(here, notification));
        }
        return inbox.notifyOwn(here, notification);
    }

    @Override
    public CompletionStage<Boolean> answer(InboundMessage response) {
        return here.answer(response)
                .thenCompose(taken -> taken ? CompletableFuture.completedFuture(true) : deliver(response));
    }

    /** Whoever has asked gets an error in the place of an answer that is too large to be sent there. */
    private CompletionStage<Boolean> deliver(InboundMessage response) {
        return ask(() -> store.peers().deliver(here.key(), new NodeMessage.Answered(here.key(), response)))
                .thenApply(others -> others > 0)
                .exceptionallyCompose(failure -> LastingQuestions.isTooLarge(failure)
                        ? deliver(here.tooLarge(response))
                        : CompletableFuture.failedFuture(failure));
    }

    /**
     * Tells other nodes of a cancellation. Where a backend exists once, its node may receive the cancellation before the call. If the
     * call arrived at this node, or runs here, its number is known, and the cancellation names it: for the node that runs the call, and
     * for the node that forwarded it and would run it anew if this node died. Otherwise the cancellation is sent to all nodes, twice. A
     * call that arrives after both was already being forwarded when the first was sent; the node that forwards it sends the
     * cancellation again once it learns what has become of the call. Nobody does if that node dies before, loses its lease, or finds
     * the inbox of the other node full.
     */
    @Override
    public CompletionStage<Void> cancel(RequestId request, InboundMessage notification) {
        boolean once = forwarder.isPresent();
        long number = forwarder.map(CallForwarder::nextNumber).orElse(Cancellation.ONCE);
        Cancellation cancellation = new Cancellation(request, notification, number, Cancellation.ANY);
        OptionalLong found = here.cancel(cancellation);
        if (found.isPresent()) {
            return found.getAsLong() == Cancellation.ANY
                    ? CompletableFuture.completedFuture(null)
                    : tellOthers(cancellation.of(found.getAsLong()));
        }
        CompletionStage<Void> told = tellOthers(cancellation);
        return once
                ? told.thenCompose(done -> tellOthers(cancellation))
                        .thenRunAsync(() -> here.cancel(cancellation), inbox.blocking())
                : told;
    }

    private CompletionStage<Void> tellOthers(Cancellation cancellation) {
        Cancellation told = here.toldElsewhere(cancellation);
        return ask(() -> store.peers().deliver(here.key(), new NodeMessage.Cancelled(here.key(), told)))
                .thenAccept(others -> {});
    }

    @Override
    public CompletionStage<Resume> listen() {
        return engine.handingOver() ? drained() : ask(() -> readers.listen(here));
    }

    @Override
    public CompletionStage<Resume> resume(EventId after) {
        return engine.handingOver() ? drained() : ask(() -> readers.resume(here, after));
    }

    private static CompletionStage<Resume> drained() {
        return CompletableFuture.completedFuture(new Resume.Closed(EndReason.DRAINED));
    }

    @Override
    public CompletionStage<Void> terminate() {
        return here.terminate();
    }
}

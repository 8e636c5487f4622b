package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a session's client sends beside its calls' start: on its way to the backend. */
final class Inbound {
    private static final Logger logger = LoggerFactory.getLogger(Inbound.class);

    private static final CompletionStage<Optional<Refusal>> TAKEN = CompletableFuture.completedFuture(Optional.empty());

    private final SessionCore core;
    private final BackendSlot backend;
    private final Outbound outbound;

    Inbound(SessionCore core, BackendSlot backend, Outbound outbound) {
        this.core = core;
        this.backend = backend;
        this.outbound = outbound;
    }

    /** Opens the backend; its answer goes the way of every answer. */
    void initialize(LiveCall.Request request) {
        backend.open(request.message())
                .ifPresentOrElse(
                        opening -> opening.whenComplete((outcome, failure) -> opened(request, outcome, failure)),
                        () -> outbound.failNow(request, "the session is initialized already"));
    }

    private void opened(LiveCall.Request request, Backend.@Nullable Outcome outcome, @Nullable Throwable failure) {
        if (outcome instanceof Backend.Opened opened) {
            core.negotiated(opened.revision());
            core.log.run(step -> core.journal.accepted(request.message(), step));
            if (!core.lifecycle.closed()) {
                core.host.telemetry.initialized(core::told);
            }
            outbound.began(request.message(), opened);
            core.host.makeRoom();
            outbound.send(request, opened.response());
            backend.connected(opened.connection());
        } else if (outcome instanceof Backend.Refused refused) {
            notOpened(request, refused.response());
        } else if (outcome instanceof Backend.Unreachable unreachable) {
            count(Refusal.BACKEND_OPENING, unreachable.cause());
            notOpened(request, unreachable.response());
        } else if (outcome instanceof Backend.Busy busy) {
            count(Refusal.BACKENDS, busy.cause());
            notOpened(request, busy.response());
        } else {
            logger.error("session {}: could not be initialized", core.shortId(), failure);
            backend.notOpened();
            outbound.failNow(request, "internal error");
        }
    }

    /** A client that has left, or was sent away, is refused nothing. */
    private void count(Refusal refusal, String cause) {
        if (!core.lifecycle.closed()) {
            core.host.telemetry.refused(refusal, cause);
        }
    }

    private void notOpened(LiveCall.Request request, OutboundMessage response) {
        backend.notOpened();
        outbound.send(request, response);
    }

    /** What to tell whoever has something for a session that is closed. */
    CompletionStage<Optional<Refusal>> refusedFor(EndReason end) {
        return refused(end.advice() == EndReason.Advice.RECONNECT ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION);
    }

    private static CompletionStage<Optional<Refusal>> refused(Refusal reason) {
        return CompletableFuture.completedFuture(Optional.of(reason));
    }

    CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
        List<RecordChange> changes = Journal.changes(notification);
        return changes.isEmpty() ? forward(notification) : record(notification, changes, () -> forward(notification));
    }

    /** Puts what a notification changes into the journal, for a backend that is elsewhere. */
    CompletionStage<Optional<Refusal>> journal(InboundMessage notification) {
        return record(notification, Journal.changes(notification), () -> {
            core.log.run(step -> core.journal.apply(notification, step));
            return TAKEN;
        });
    }

    private CompletionStage<Optional<Refusal>> record(
            InboundMessage notification,
            List<RecordChange> changes,
            Supplier<CompletionStage<Optional<Refusal>>> meanwhile) {
        Supplier<CompletionStage<Optional<Refusal>>> then = core.log.step(step -> {
            if (!core.outbox.open()) {
                return () -> CompletableFuture.failedFuture(new StoreUnavailableException(null));
            }
            if (!core.journal.hasRoom(List.of(notification))) {
                return () -> refused(Refusal.JOURNAL);
            }
            Pending pending = new Pending(null, changes) {
                @Override
                public boolean awaited() {
                    return true;
                }

                @Override
                public void again(Step step) {
                    core.outbox.insist(changes, step);
                }
            };
            core.outbox.add(pending, step);
            return () -> {
                CompletionStage<Void> known = outbound.journaled(pending);
                return meanwhile.get().thenCombine(known, (refusal, done) -> refusal);
            };
        });
        return then.get();
    }

    private CompletionStage<Optional<Refusal>> forward(InboundMessage notification) {
        return backend.use(new Forward(notification)) ? TAKEN : refused(Refusal.BACKEND);
    }

    /**
     * Hands a notification to the backend. A fresh backend gets it with the journal as soon as this one has it or none will, and not
     * before: the store has its change in any case.
     */
    private final class Forward implements BackendUser {
        private final InboundMessage notification;

        private Forward(InboundMessage notification) {
            this.notification = notification;
        }

        @Override
        public long bytes() {
            return Journal.size(notification);
        }

        @Override
        public Object context() {
            return notification.context();
        }

        @Override
        public void handedTo(int incarnation, Step step) {
            core.journal.apply(notification, step);
        }

        @Override
        public void turnedAway(Step step) {
            core.journal.apply(notification, step);
        }

        @Override
        public void use(BackendConnection connection) {
            try {
                connection.notify(notification);
            } catch (Throwable e) {
                logger.error("session {}: the backend failed on {}", core.shortId(), notification.method(), e);
            }
        }

        @Override
        public void refused(String cause) {
            logger.debug("session {}: {} was dropped: {}", core.shortId(), notification.method(), cause);
        }
    }

    /**
     * Hands an answer to the backend that asked. Completes with false if nobody asked, or it was answered already; where the next run of
     * the call gets it, when it is kept for that.
     */
    CompletionStage<Boolean> answer(InboundMessage response) {
        AtomicBoolean noted = new AtomicBoolean();
        Optional<Consumer<InboundMessage>> asker = core.log.step(step -> {
            Optional<OpenRequests.Question> question = core.requests.answered(response.requiredId(), step);
            question.ifPresent(asked -> {
                asked.node().answered = true;
                core.streams.settle(List.of(asked.node()), step);
                boolean kept = core.outlives() || core.host.cluster().mayBeReadElsewhere();
                // what is kept of the call of a carrier tells whoever reads it what the client has yet to answer
                if (kept && (asked.node().stream.listening() || core.kind.equals(SessionRecord.CARRIER))) {
                    forget(asked.node(), step);
                }
                noted.set(asked.call()
                        .filter(call -> core.keepAnswer(call, asked, response, step))
                        .isPresent());
            });
            return question.flatMap(asked -> backend.answers(asked.incarnation()));
        });
        asker.ifPresent(taker -> answer(taker, response));
        boolean taken = asker.isPresent();
        return noted.get()
                ? core.log.settledUnlessStuck().handle((done, failure) -> taken)
                : CompletableFuture.completedFuture(taken);
    }

    /**
     * Lets nobody find a question again that is answered: neither another node nor the next life of the session knows of the answer.
     * Whoever answers has got the question, and what came before it.
     */
    private void forget(KeptEvent question, Step step) {
        if (!question.placed()) {
            return;
        }
        long offset = question.event.offset();
        if (question.stream.listening()) {
            core.streams.confirm(question.stream, offset, step);
        }
        core.streams.forget(question, step);
        if (question.stream.listening()) {
            core.outbox.insist(List.of(core.record.read(offset, step)), step);
        } else {
            core.outbox.flush(step);
        }
    }

    /** Answers this incarnation of the backend, if it is still there. */
    void answer(int incarnation, InboundMessage response) {
        core.log.look(() -> backend.answers(incarnation)).ifPresent(taker -> answer(taker, response));
    }

    private void answer(Consumer<InboundMessage> taker, InboundMessage response) {
        try {
            taker.accept(response);
        } catch (Throwable e) {
            logger.error("session {}: the backend failed on an answer", core.shortId(), e);
        }
    }
}

package dev.holdfast.session;

import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings the backend of a session to what its journal says, where that has changed beside it.
 *
 * <p>What another node has put into the journal is put here, and sent to the backend, as to a fresh one. What was removed is not
 * taken back from a backend that has it; it goes with the next one.
 *
 * <p>What the backend before has accepted stands in the journal when the store has its answer: its successor gets it, whose replay
 * may have begun without it.
 */
public final class CatchUp {
    private static final Logger logger = LoggerFactory.getLogger(CatchUp.class);

    /** How many requests are on their way at once; a journal may have thousands. */
    private static final int MOST_AT_ONCE = 100;

    private final SessionCore core;
    private final BackendSlot backend;

    CatchUp(SessionCore core, BackendSlot backend) {
        this.core = core;
        this.backend = backend;
    }

    /** Completes when the backend has what it lacked; whatever becomes of that, the session goes on. */
    public CompletionStage<Void> to(SessionRecord record) {
        Map<String, InboundMessage> wanted = wanted(record);
        CompletableFuture<Void> done = new CompletableFuture<>();
        core.log.run(step -> {
            List<InboundMessage> missing = become(record.revision(), wanted, step);
            if (missing.isEmpty() || backend.awaitsJournal()) {
                step.complete(done);
            } else {
                step.then(() -> backend.use(new Late(missing, done)));
            }
        });
        return done;
    }

    /** An incarnation of the backend has accepted a request, and the journal has it from this step on. */
    void after(int incarnation, InboundMessage request, Step step) {
        Late late = new Late(List.of(request.withoutContext()), new CompletableFuture<>());
        backend.useAfter(incarnation, late, step);
    }

    /** Brings the journal alone to that state: the backend gets it when it is opened. */
    public void follow(SessionRecord record) {
        Map<String, InboundMessage> wanted = wanted(record);
        core.log.run(step -> become(record.revision(), wanted, step));
    }

    /** Whether a backend is here. */
    public boolean hasBackend() {
        return backend.presence() == BackendSlot.Presence.THERE;
    }

    /** Whether no backend was here yet. */
    public boolean lacksBackend() {
        return backend.presence() == BackendSlot.Presence.PENDING;
    }

    /**
     * Opens the first backend here, which exists once and is to be on this node. One that takes headers of a request along waits for
     * that; the next one after a loss is opened when it is needed. Where nobody can open it now, whoever needs it asks again.
     */
    public void openBackend() {
        boolean missing = lacksBackend() && !core.host.draining() && !core.host.backend.needsContext();
        if (missing) {
            boolean unused = core.host.elsewhere(backend::restore);
        }
    }

    private Map<String, InboundMessage> wanted(SessionRecord record) {
        Map<String, InboundMessage> wanted = new LinkedHashMap<>();
        record.journal().forEach((key, bytes) -> wanted.put(key, message(key, bytes)));
        return wanted;
    }

    private List<InboundMessage> become(String revision, Map<String, InboundMessage> wanted, Step step) {
        begin(revision, wanted.remove(SessionRecord.INITIALIZE), step);
        return core.journal.become(wanted, step);
    }

    /** Another node has initialized it. */
    private void begin(String revision, @Nullable InboundMessage initialize, Step step) {
        if (initialize != null && backend.existed(step)) {
            core.negotiated(revision);
            core.journal.accepted(initialize, step);
        }
    }

    private InboundMessage message(String key, byte[] bytes) {
        InboundMessage read = UnreadableException.read(() -> core.host.messages.read(bytes));
        return new InboundMessage(
                read.kind(), read.id(), read.method(), bytes, new JournalChange.Put(key), InboundMessage.NO_CONTEXT);
    }

    private final class Late implements BackendUser {
        private final List<InboundMessage> missing;
        private final CompletableFuture<Void> done;

        private Late(List<InboundMessage> missing, CompletableFuture<Void> done) {
            this.missing = missing;
            this.done = done;
        }

        @Override
        public long bytes() {
            return missing.stream().mapToLong(Journal::size).sum();
        }

        @Override
        public void handedTo(int incarnation, Step step) {
            // the journal has it already: a fresh backend gets it with that, and here again, which changes nothing
            backend.await(this, step);
        }

        @Override
        public void use(BackendConnection connection) {
            done.thenRun(() -> core.log.run(step -> backend.awaitNoMore(this, step)));
            core.host.later(() -> done.complete(null), BackendSlot.REPLAY_MILLIS);
            replay(core.id(), missing, connection).whenComplete((sent, failure) -> {
                if (failure != null) {
                    logger.warn("session {}: the backend refused what another one has accepted", core.shortId());
                }
                done.complete(null);
            });
        }

        @Override
        public void refused(String cause) {
            done.complete(null);
        }

        @Override
        public void dropped() {
            done.complete(null);
        }
    }

    /**
     * Sends these messages in order; completes when every request has its answer, fails if one is refused. They come from any time of the
     * session, and a client may use an id again: so of those with one id each waits for the answer to the one before.
     */
    static CompletionStage<Void> replay(String sessionId, List<InboundMessage> messages, BackendConnection fresh) {
        CompletionStage<Void> sent = SessionLog.DONE;
        for (List<InboundMessage> part : parts(messages)) {
            sent = sent.thenCompose(before -> together(sessionId, part, fresh));
        }
        return sent;
    }

    /** What may be on its way at the same time. */
    private static List<List<InboundMessage>> parts(List<InboundMessage> messages) {
        List<List<InboundMessage>> parts = new ArrayList<>(1);
        Set<RequestId> ids = new HashSet<>();
        List<InboundMessage> part = new ArrayList<>();
        for (InboundMessage message : messages) {
            boolean request = message.kind() == InboundMessage.Kind.REQUEST;
            if (request && (ids.contains(message.requiredId()) || ids.size() == MOST_AT_ONCE)) {
                parts.add(part);
                part = new ArrayList<>();
                ids.clear();
            }
            if (request) {
                ids.add(message.requiredId());
            }
            part.add(message);
        }
        parts.add(part);
        return parts;
    }

    private static CompletionStage<Void> together(
            String sessionId, List<InboundMessage> messages, BackendConnection fresh) {
        CompletionStage<Void> answers = SessionLog.DONE;
        try {
            for (InboundMessage message : messages) {
                if (message.kind() == InboundMessage.Kind.REQUEST) {
                    Replayed answer = new Replayed(sessionId, message.method());
                    fresh.replay(message, answer);
                    answers = answers.thenCompose(before -> answer.arrived);
                } else {
                    fresh.notify(message);
                }
            }
            return answers;
        } catch (Throwable e) {
            logger.error("session {}: its backend failed on its journal", Telemetry.shortened(sessionId), e);
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Takes the answer to a replayed request: any but an error will do. */
    private static final class Replayed implements CallSink {
        private final String sessionId;
        private final String method;
        private final CompletableFuture<Void> arrived = new CompletableFuture<>();

        private Replayed(String sessionId, String method) {
            this.sessionId = sessionId;
            this.method = method;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (message.kind() == EventKind.RESPONSE) {
                arrived.complete(null);
            } else if (message.kind() == EventKind.ERROR) {
                arrived.completeExceptionally(new IllegalStateException(method + " was refused"));
            }
            return SessionLog.DONE;
        }

        @Override
        public void onCancel(CancelHook hook) {}

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return sessionId;
        }
    }
}

package dev.holdfast;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A call, and the sinks of its requests. What changes is guarded by the session's lock. */
final class LiveCall implements Call {
    private static final Logger logger = LoggerFactory.getLogger(LiveCall.class);
    private static final String INITIALIZE = "initialize";

    private final LiveSession session;
    private final StreamId id;
    private final LiveStream stream;
    private final Optional<LiveReader> reader;
    private final List<Sink> sinks;
    private final long startedAt;
    private boolean over;
    private boolean rerunnable;

    private LiveCall(
            LiveSession session,
            StreamId id,
            LiveStream stream,
            Optional<LiveReader> reader,
            List<InboundMessage> requests) {
        this.session = session;
        this.id = id;
        this.stream = stream;
        this.reader = reader;
        this.startedAt = session.now();
        this.sinks = new ArrayList<>(requests.size());
        for (InboundMessage request : requests) {
            sinks.add(new Sink(request));
        }
    }

    /** A call whose stream is its own, and read from its start. */
    static LiveCall reading(LiveReader reader, LiveSession session, List<InboundMessage> requests) {
        return new LiveCall(session, reader.stream().id(), reader.stream(), Optional.of(reader), requests);
    }

    /** A call that nobody reads from its start: its answers go to the listening stream, or its client has yet to come back. */
    static LiveCall unread(StreamId id, LiveStream stream, LiveSession session, List<InboundMessage> requests) {
        return new LiveCall(session, id, stream, Optional.empty(), requests);
    }

    /** The name of the call in the log: that of its stream, where it has one of its own. */
    StreamId id() {
        return id;
    }

    LiveStream stream() {
        return stream;
    }

    long startedAt() {
        return startedAt;
    }

    /** Whether this is the client's {@code initialize}, which opens the backend. */
    boolean initializes() {
        return initializes(sinks.get(0).request());
    }

    static boolean initializes(InboundMessage request) {
        return request.method().equals(INITIALIZE);
    }

    List<Sink> sinks() {
        return sinks;
    }

    /** Whether every request has its answer in the outbox at least, or was cancelled. */
    boolean answered() {
        return sinks.stream().noneMatch(Sink::open);
    }

    /** What its record says with the answer that stands in the outbox now: which requests still run, or that none does. */
    RecordChange recorded() {
        List<RequestId> left = sinks.stream().filter(Sink::open).map(Sink::id).toList();
        // more than one request are never run again: nothing is kept beside
        return left.isEmpty() ? new RecordChange.CallEnded(id) : new RecordChange.CallStarted(id, left);
    }

    /** Whether every request has its answer committed, or was cancelled. */
    boolean done() {
        return sinks.stream().allMatch(sink -> sink.progress == Progress.OVER);
    }

    /** It may be run again, should this process end before it. */
    void mayBeRerun() {
        rerunnable = true;
        if (!stream.listening()) {
            stream.keepProgress();
        }
    }

    boolean rerunnable() {
        return rerunnable;
    }

    /** It is run again, and was at this point of its progress: what does not go beyond is not told again. */
    void continues(OptionalDouble progress) {
        sinks.forEach(sink -> sink.told = progress);
    }

    /** Why a call that is done has ended. */
    EndReason reason() {
        return sinks.stream().allMatch(sink -> sink.cancelled) ? EndReason.CANCELLED : EndReason.COMPLETED;
    }

    /** Marks the call as ended; true the first time. */
    boolean end() {
        boolean first = !over;
        over = true;
        return first;
    }

    /** Gives the requests that still wait into the hands of a life of the backend; returns them. */
    List<Sink> hand(int life) {
        List<Sink> handed =
                sinks.stream().filter(sink -> sink.progress == Progress.WAITING).toList();
        handed.forEach(sink -> {
            sink.progress = Progress.RUNNING;
            sink.life = life;
        });
        return handed;
    }

    @Override
    public Optional<StreamReader> reader() {
        return reader.map(StreamReader.class::cast);
    }

    Optional<LiveReader> liveReader() {
        return reader;
    }

    @Override
    public void dispatch() {
        session.dispatch(this);
    }

    /** How far a request is. */
    private enum Progress {
        /** No backend has it. */
        WAITING,
        /** A backend has it. */
        RUNNING,
        /** Its answer stands in the outbox. */
        ANSWERED,
        /** Its answer is committed, or it was cancelled. */
        OVER
    }

    /** The way back for one request. */
    final class Sink implements CallSink {
        private InboundMessage request;
        private Progress progress = Progress.WAITING;
        private int life;
        private boolean cancelled;
        private boolean stopped;
        private Optional<InboundMessage> cancellation = Optional.empty();
        private CancelHook hook = notification -> {};
        private OptionalDouble told = OptionalDouble.empty();

        private Sink(InboundMessage request) {
            this.request = request;
        }

        InboundMessage request() {
            return request;
        }

        RequestId id() {
            return request.requiredId();
        }

        /** The backend has the request: what only it needed is not kept while it works; under the lock. */
        void handedOver() {
            if (request.journal() instanceof JournalChange.None) {
                request = request.withoutContent();
            }
        }

        LiveCall call() {
            return LiveCall.this;
        }

        /** The life of the backend that has the request, 0 for none; under the lock. */
        int life() {
            return life;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            return session.send(this, message);
        }

        @Override
        public void onCancel(CancelHook next) {
            boolean late = session.locked(() -> {
                hook = next;
                return cancelled || stopped;
            });
            if (late) {
                next.cancelled(cancellation);
            }
        }

        @Override
        public void disconnect(Duration retry) {
            session.attachments().disconnect(stream, retry);
        }

        @Override
        public String sessionId() {
            return session.id();
        }

        /** Whether the request is neither answered nor cancelled; under the lock. */
        boolean open() {
            return progress == Progress.WAITING || progress == Progress.RUNNING;
        }

        /** Whether a message still has a place on the stream; under the lock. */
        boolean takes(OutboundMessage message) {
            return open() && (!EventKind.answers(message.kind()) || id().equals(message.id()));
        }

        /** Of a call that is run again, how far the client was told that it is; under the lock. */
        OptionalDouble told() {
            return told;
        }

        /** The answer stands in the outbox; under the lock. */
        void answer() {
            progress = Progress.ANSWERED;
        }

        /** The store does not have the answer. No backend gets the request again; under the lock. */
        void unanswer() {
            progress = Progress.RUNNING;
        }

        /** The answer is committed; under the lock. */
        void close() {
            progress = Progress.OVER;
        }

        /** Nobody waits for an answer any more; under the lock. False if there is one already. */
        boolean cancel(Optional<InboundMessage> notification, Effects effects) {
            if (!open()) {
                return false;
            }
            progress = Progress.OVER;
            cancelled = true;
            cancellation = notification;
            tellBackend(effects);
            return true;
        }

        /** The backend shall give up the request, which has got its answer without it; under the lock. */
        void stop(Effects effects) {
            stopped = true;
            tellBackend(effects);
        }

        boolean stopped() {
            return stopped;
        }

        private void tellBackend(Effects effects) {
            CancelHook current = hook;
            Optional<InboundMessage> notification = cancellation;
            effects.add(() -> {
                try {
                    current.cancelled(notification);
                } catch (Throwable e) {
                    logger.error("session {}: a call could not be cancelled", session.shortId(), e);
                }
            });
        }
    }
}

package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.log.Effects;
import dev.holdfast.log.LiveReader;
import dev.holdfast.log.LiveStream;
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
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A call, and the sinks of its requests. What changes here changes inside a step. */
public final class LiveCall implements Call {
    /** What a session does for its calls; called outside of a step. */
    public interface Host {
        /** Hands the requests to the backend, by one task on an executor. */
        void dispatch(LiveCall call, Executor caller);

        /** Appends a message to the stream of a call. */
        CompletionStage<Void> send(Sink sink, OutboundMessage message);

        /** Sends the client of a stream away for a while. */
        void disconnect(LiveStream stream, Duration retry);

        /** Finds out who follows a request from now on. */
        CallWatch follow(InboundMessage request);

        /** Looks at something that steps change. */
        <T> T look(Supplier<T> question);

        /** The session id that the client holds. */
        String id();
    }

    private static final CallSink.CancelHook NOBODY = notification -> {};
    private static final CallSink.CancelHook TOLD = notification -> {};
    private static final Logger logger = LoggerFactory.getLogger(LiveCall.class);
    private static final String INITIALIZE = "initialize";

    private final Host host;
    private final StreamId id;
    private final LiveStream stream;
    private final Optional<LiveReader> reader;
    private final List<Sink> sinks;
    private final long startedAt;
    private boolean over;
    private boolean rerunnable;

    private LiveCall(
            Host host,
            StreamId id,
            LiveStream stream,
            Optional<LiveReader> reader,
            List<InboundMessage> requests,
            long startedAt) {
        this.host = host;
        this.id = id;
        this.stream = stream;
        this.reader = reader;
        this.startedAt = startedAt;
        this.sinks = new ArrayList<>(requests.size());
        for (InboundMessage request : requests) {
            sinks.add(new Sink(request));
        }
    }

    /** A call whose stream is its own, and read from its start. */
    static LiveCall reading(LiveReader reader, Host host, List<InboundMessage> requests, long startedAt) {
        return new LiveCall(host, reader.stream().id(), reader.stream(), Optional.of(reader), requests, startedAt);
    }

    /** A call that nobody reads from its start: its answers go to the listening stream, or its client has yet to come back. */
    static LiveCall unread(StreamId id, LiveStream stream, Host host, List<InboundMessage> requests, long startedAt) {
        return new LiveCall(host, id, stream, Optional.empty(), requests, startedAt);
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

    public List<Sink> sinks() {
        return sinks;
    }

    /** Whether every request has its answer in the outbox at least, or was cancelled. */
    boolean answered() {
        for (Sink sink : sinks) {
            if (sink.open()) {
                return false;
            }
        }
        return true;
    }

    /** What its record says with the answer that stands in the outbox now: which requests still run, or that none does. */
    RecordChange recorded() {
        if (answered()) {
            return new RecordChange.CallEnded(id);
        }
        // more than one request are never run again: nothing is kept beside
        return new RecordChange.CallStarted(
                id, sinks.stream().filter(Sink::open).map(Sink::id).toList());
    }

    /** Whether every request has its answer committed, or was cancelled. */
    boolean done() {
        for (Sink sink : sinks) {
            if (sink.progress != Progress.OVER) {
                return false;
            }
        }
        return true;
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
        for (Sink sink : sinks) {
            if (!sink.cancelled) {
                return EndReason.COMPLETED;
            }
        }
        return EndReason.CANCELLED;
    }

    /** Marks the call as ended; true the first time. */
    boolean end() {
        boolean first = !over;
        over = true;
        return first;
    }

    /** A request in the hands of a backend: what only that needs is not kept here while it works. */
    record Handed(Sink sink, InboundMessage request, CallWatch watch) {}

    /** Gives the requests that still wait into the hands of an incarnation of the backend; returns them. */
    List<Handed> hand(int incarnation) {
        if (sinks.size() == 1) {
            Sink only = sinks.get(0);
            return only.progress == Progress.WAITING ? List.of(only.hand(incarnation)) : List.of();
        }
        List<Handed> handed = new ArrayList<>(sinks.size());
        for (Sink sink : sinks) {
            if (sink.progress == Progress.WAITING) {
                handed.add(sink.hand(incarnation));
            }
        }
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
    public void dispatch(Executor caller) {
        sinks.forEach(Sink::follow);
        host.dispatch(this, caller);
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
    public final class Sink implements CallSink {
        private InboundMessage request;
        /** Changed inside steps, and read outside of them too. */
        private volatile Progress progress = Progress.WAITING;

        private int incarnation;
        private boolean cancelled;
        private boolean stopped;
        private Optional<InboundMessage> cancellation = Optional.empty();
        /** What the backend wants to be called with, {@link #TOLD} once it was or would have been. */
        private final AtomicReference<CancelHook> hook = new AtomicReference<>(NOBODY);

        private OptionalDouble told = OptionalDouble.empty();
        private CallWatch watch = CallWatch.NONE;

        private Sink(InboundMessage request) {
            this.request = request;
        }

        public InboundMessage request() {
            return request;
        }

        RequestId id() {
            return request.requiredId();
        }

        private Handed hand(int next) {
            InboundMessage whole = request;
            progress = Progress.RUNNING;
            incarnation = next;
            if (request.journal() instanceof JournalChange.None) {
                request = request.withoutContent();
            }
            return new Handed(this, whole, watch);
        }

        /** Lets somebody follow the request, who may come too late. */
        private void follow() {
            CallWatch follower = host.follow(request);
            if (follower == CallWatch.NONE) {
                return;
            }
            boolean over = host.look(() -> {
                watch = progress == Progress.OVER ? CallWatch.NONE : follower;
                return progress == Progress.OVER;
            });
            if (reader.isPresent()) {
                follower.attached(CallWatch.Attachment.STARTED);
            }
            if (over) {
                follower.cancelled();
            }
        }

        /** Who follows the request; inside a step. */
        CallWatch watch() {
            return watch;
        }

        /** Who has followed the request, which is over; told nothing more from here on. */
        CallWatch lastWatch() {
            CallWatch last = watch;
            watch = CallWatch.NONE;
            return last;
        }

        LiveCall call() {
            return LiveCall.this;
        }

        /** The incarnation of the backend that has the request, 0 for none. */
        int incarnation() {
            return incarnation;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            return host.send(this, message);
        }

        @Override
        public void onCancel(CancelHook next) {
            if (hook.getAndUpdate(before -> before == TOLD ? TOLD : next) == TOLD) {
                next.cancelled(cancellation);
            }
        }

        @Override
        public void disconnect(Duration retry) {
            host.disconnect(stream, retry);
        }

        @Override
        public String sessionId() {
            return host.id();
        }

        /** Whether the request is neither answered nor cancelled. */
        boolean open() {
            return progress == Progress.WAITING || progress == Progress.RUNNING;
        }

        /** Whether a message still has a place on the stream. */
        boolean takes(OutboundMessage message) {
            return open() && (!EventKind.answers(message.kind()) || id().equals(message.id()));
        }

        /** Of a call that is run again, how far the client was told that it is. */
        OptionalDouble told() {
            return told;
        }

        /** The answer stands in the outbox. */
        void answer() {
            progress = Progress.ANSWERED;
        }

        /** The store does not have the answer. No backend gets the request again. */
        void unanswer() {
            progress = Progress.RUNNING;
        }

        /** The answer is committed. */
        void close() {
            progress = Progress.OVER;
        }

        /** Nobody waits for an answer any more. False if there is one already. */
        boolean cancel(Optional<InboundMessage> notification, Effects effects) {
            if (!open()) {
                return false;
            }
            progress = Progress.OVER;
            cancelled = true;
            cancellation = notification;
            tellBackend(effects);
            CallWatch last = lastWatch();
            if (last != CallWatch.NONE) {
                effects.then(last::cancelled);
            }
            return true;
        }

        /** The backend shall give up the request, which has got its answer without it. */
        void stop(Effects effects) {
            stopped = true;
            tellBackend(effects);
        }

        boolean stopped() {
            return stopped;
        }

        private void tellBackend(Effects effects) {
            Optional<InboundMessage> notification = cancellation;
            effects.then(() -> {
                try {
                    hook.getAndSet(TOLD).cancelled(notification);
                } catch (Throwable e) {
                    logger.error("a call could not be cancelled", e);
                }
            });
        }
    }
}

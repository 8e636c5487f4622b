package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.log.LiveReader;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/** A call, and the sinks of its requests. What changes here changes inside a step. */
public final class LiveCall implements Call {
    /** What a session does for its calls; called outside of a step, but where it says so. */
    public interface Host {
        /** Hands the requests to the backend, by one task on an executor. */
        void dispatch(LiveCall call, Executor caller);

        /** Appends to the stream of a call what an incarnation of the backend sends for a request that is in its hands. */
        CompletionStage<Void> send(HandedSink way, OutboundMessage message);

        /** An incarnation of the backend has accepted a request that has changed the session's journal; inside a step. */
        void accepted(InboundMessage request, int incarnation, Step step);

        /** Sends the client of a stream away for a while. */
        void disconnect(LiveStream stream, Duration retry);

        /** Finds out who follows a request from now on. */
        CallWatch follow(RequestSink sink);

        /** Makes a decision, then does what it causes. */
        <T> T step(Function<Step, T> decision);

        /** The session id that the client holds. */
        String id();
    }

    /** Nothing is to be run when the call is over: not yet, or not any more. */
    private enum Nothing implements Runnable {
        YET,
        MORE;

        @Override
        public void run() {}
    }

    /** The streams of calls that came in on other nodes have numbers from here on: those of this one count from 1. */
    public static final long LEAST_NUMBER_ELSEWHERE = 1L << 32;

    private static final String INITIALIZE = "initialize";

    private final Host host;
    private final StreamId id;
    private final LiveStream stream;
    private final Optional<LiveReader> reader;
    private final List<RequestSink> sinks;
    private final long startedAt;
    private List<Long> behind = List.of();
    private boolean over;
    private final AtomicReference<Runnable> afterwards = new AtomicReference<>(Nothing.YET);
    private boolean rerunnable;
    private boolean again;

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
            sinks.add(new RequestSink(this, request));
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

    /** The number by which other nodes know it, if one has sent it here; else {@link Cancellation#ANY}. */
    long numberElsewhere() {
        return id.number() < LEAST_NUMBER_ELSEWHERE ? Cancellation.ANY : id.number();
    }

    Host host() {
        return host;
    }

    LiveStream stream() {
        return stream;
    }

    /** The stream that its client reads. */
    public StreamId streamRead() {
        return stream.id();
    }

    /** It began behind these cancellations, where it came in. */
    void comesBehind(List<Long> cancellations) {
        behind = cancellations;
    }

    /** The cancellations that had come before it. */
    List<Long> behind() {
        return behind;
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

    public List<RequestSink> sinks() {
        return sinks;
    }

    /** Whether every request has its answer in the outbox at least, or was cancelled. */
    boolean answered() {
        for (RequestSink sink : sinks) {
            if (sink.open()) {
                return false;
            }
        }
        return true;
    }

    /** Whether a request waits for its answer, and none has one, be it only in the outbox. */
    boolean unanswered() {
        boolean waits = false;
        for (RequestSink sink : sinks) {
            if (!sink.open() && !sink.cancelled()) {
                return false;
            }
            waits |= sink.open();
        }
        return waits;
    }

    /** What its record says with the answer that stands in the outbox now: which requests still run, or that none does. */
    RecordChange recorded() {
        if (answered()) {
            return new RecordChange.CallEnded(id);
        }
        // more than one request are never run again: nothing is kept beside
        return new RecordChange.CallStarted(
                id,
                sinks.stream().filter(RequestSink::open).map(RequestSink::id).toList());
    }

    /** Whether every request has its answer committed, or was cancelled. */
    boolean done() {
        for (RequestSink sink : sinks) {
            if (!sink.over()) {
                return false;
            }
        }
        return true;
    }

    /** It may be run again, should this process end before it. */
    void mayBeRerun(Step step) {
        rerunnable = true;
        if (!stream.listening()) {
            stream.keepProgress(step);
        }
    }

    boolean rerunnable() {
        return rerunnable;
    }

    /** It is run again, and was at this point of its progress: what does not go beyond is not told again. */
    void continues(OptionalDouble progress) {
        again = true;
        sinks.forEach(sink -> sink.continues(progress));
    }

    /** Whether it is run again, after the end of whoever ran it before. */
    boolean again() {
        return again;
    }

    /** Why a call that is done has ended. */
    EndReason reason() {
        for (RequestSink sink : sinks) {
            if (!sink.cancelled()) {
                return EndReason.COMPLETED;
            }
        }
        return EndReason.CANCELLED;
    }

    /** Whether it is marked as ended. */
    boolean ended() {
        return over;
    }

    /** Marks the call as ended; true the first time. */
    boolean end() {
        boolean first = !over;
        over = true;
        if (first) {
            afterwards.getAndSet(Nothing.MORE).run();
        }
        return first;
    }

    /** Gives the requests that still wait into the hands of an incarnation of the backend; returns them. */
    List<RequestSink.Handed> hand(int incarnation) {
        if (sinks.size() == 1) {
            RequestSink only = sinks.get(0);
            return only.waits() ? List.of(only.hand(incarnation)) : List.of();
        }
        List<RequestSink.Handed> handed = new ArrayList<>(sinks.size());
        for (RequestSink sink : sinks) {
            if (sink.waits()) {
                handed.add(sink.hand(incarnation));
            }
        }
        return handed;
    }

    @Override
    public Optional<StreamReader> reader() {
        return reader.map(StreamReader.class::cast);
    }

    @Override
    public void whenOver(Runnable task) {
        if (!afterwards.compareAndSet(Nothing.YET, task)) {
            task.run();
        }
    }

    Optional<LiveReader> liveReader() {
        return reader;
    }

    @Override
    public void dispatch(Executor caller) {
        sinks.forEach(RequestSink::follow);
        host.dispatch(this, caller);
    }
}

package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Step;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;

/** A call, and its requests. */
public final class LiveCall implements Call {
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

    private final SessionOwner owner;
    private final StreamId id;
    private final LiveStream stream;
    private final Optional<StreamCursor> reader;
    private final List<CallRequest> requests;
    private final long startedAt;
    private List<Long> behind = List.of();
    private boolean over;
    private final AtomicReference<Runnable> afterwards = new AtomicReference<>(Nothing.YET);
    private boolean rerunnable;
    private boolean again;

    private LiveCall(
            SessionOwner owner,
            StreamId id,
            LiveStream stream,
            Optional<StreamCursor> reader,
            List<InboundMessage> messages,
            long startedAt) {
        this.owner = owner;
        this.id = id;
        this.stream = stream;
        this.reader = reader;
        this.startedAt = startedAt;
        this.requests = new ArrayList<>(messages.size());
        for (InboundMessage message : messages) {
            requests.add(new CallRequest(this, message));
        }
    }

    /** A call whose stream is its own, and read from its start. */
    static LiveCall reading(StreamCursor reader, SessionOwner owner, List<InboundMessage> messages, long startedAt) {
        return new LiveCall(owner, reader.stream().id(), reader.stream(), Optional.of(reader), messages, startedAt);
    }

    /** A call that nobody reads from its start: its answers go to the listening stream, or its client has yet to come back. */
    static LiveCall unread(
            StreamId id, LiveStream stream, SessionOwner owner, List<InboundMessage> messages, long startedAt) {
        return new LiveCall(owner, id, stream, Optional.empty(), messages, startedAt);
    }

    SessionOwner owner() {
        return owner;
    }

    /** The name of the call in the log: that of its stream, where it has one of its own. */
    StreamId id() {
        return id;
    }

    /** The number by which other nodes know it, if one has sent it here; else {@link Cancellation#ANY}. */
    long numberElsewhere() {
        return id.number() < LEAST_NUMBER_ELSEWHERE ? Cancellation.ANY : id.number();
    }

    LiveStream stream() {
        return stream;
    }

    public StreamId streamRead() {
        return stream.id();
    }

    Optional<StreamCursor> cursor() {
        return reader;
    }

    @Override
    public Optional<StreamReader> reader() {
        return reader.map(StreamReader.class::cast);
    }

    public List<CallRequest> requests() {
        return requests;
    }

    long startedAt() {
        return startedAt;
    }

    /** Whether this is the client's {@code initialize}, which opens the backend. */
    boolean initializes() {
        return initializes(requests.get(0).message());
    }

    static boolean initializes(InboundMessage request) {
        return request.method().equals(INITIALIZE);
    }

    /** It began behind these cancellations, where it came in. */
    void comesBehind(List<Long> cancellations, Step step) {
        behind = cancellations;
    }

    List<Long> behind() {
        return behind;
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
    void continues(OptionalDouble progress, Step step) {
        again = true;
        requests.forEach(request -> request.continues(progress, step));
    }

    /** Whether it is run again, after the end of whoever ran it before. */
    boolean again() {
        return again;
    }

    @Override
    public void dispatch(Executor caller) {
        owner.dispatch(this, caller);
    }

    /** Gives the requests that still wait into the hands of an incarnation of the backend; returns them. */
    List<CallRequest.Held> hand(int incarnation, Step step) {
        if (requests.size() == 1) {
            CallRequest only = requests.get(0);
            return only.waits() ? List.of(only.hand(incarnation, step)) : List.of();
        }
        List<CallRequest.Held> held = new ArrayList<>(requests.size());
        for (CallRequest request : requests) {
            if (request.waits()) {
                held.add(request.hand(incarnation, step));
            }
        }
        return held;
    }

    /** Whether every request has its answer in the outbox at least, or was cancelled. */
    boolean answered() {
        for (CallRequest request : requests) {
            if (request.open()) {
                return false;
            }
        }
        return true;
    }

    /** Whether a request waits for its answer, and none has one, be it only in the outbox. */
    boolean unanswered() {
        boolean waits = false;
        for (CallRequest request : requests) {
            if (!request.open() && !request.cancelled()) {
                return false;
            }
            waits |= request.open();
        }
        return waits;
    }

    /** Whether every request has its answer committed, or was cancelled. */
    boolean done() {
        for (CallRequest request : requests) {
            if (!request.over()) {
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
                id,
                requests.stream().filter(CallRequest::open).map(CallRequest::id).toList());
    }

    /** Why a call that is done has ended. */
    EndReason reason() {
        for (CallRequest request : requests) {
            if (!request.cancelled()) {
                return EndReason.COMPLETED;
            }
        }
        return EndReason.CANCELLED;
    }

    boolean ended() {
        return over;
    }

    /** Marks the call as ended; true the first time. */
    boolean end(Step step) {
        boolean first = !over;
        over = true;
        if (first) {
            afterwards.getAndSet(Nothing.MORE).run();
        }
        return first;
    }

    @Override
    public void whenOver(Runnable task) {
        if (!afterwards.compareAndSet(Nothing.YET, task)) {
            task.run();
        }
    }

    /**
     * What the record of a running call keeps where the call may be run again after its process has died. A call that it may have
     * died of is not tried for ever.
     *
     * @param runs how often it was run so far
     * @param request the request
     */
    record Rerun(int runs, byte[] request) {
        private static final byte VERSION = 1;
        private static final int HEADER = 1 + Integer.BYTES;
        private static final int MOST_RUNS = 3;

        /** What to keep of a request that runs for the first time. */
        static byte[] first(InboundMessage request) {
            return new Rerun(1, request.bytes()).pack();
        }

        /** What was kept of a call that is to be run again; empty if it must not be. */
        static Optional<Rerun> of(SessionRecord.RunningCall call) {
            ByteBuffer packed = ByteBuffer.wrap(call.extension());
            if (packed.remaining() <= HEADER || packed.get() != VERSION) {
                return Optional.empty();
            }
            int runs = packed.getInt();
            byte[] request = new byte[packed.remaining()];
            packed.get(request);
            return runs < MOST_RUNS ? Optional.of(new Rerun(runs, request)) : Optional.empty();
        }

        Rerun next() {
            return new Rerun(runs + 1, request);
        }

        byte[] pack() {
            return ByteBuffer.allocate(HEADER + request.length)
                    .put(VERSION)
                    .putInt(runs)
                    .put(request)
                    .array();
        }
    }

    /**
     * The client gives up a request: the newest of those with this id that had begun, or that of one call.
     *
     * @param request the id
     * @param notification what the client has said
     * @param number names the cancellation where nodes may hear of it more than once: it ends one request of each, and none that has begun
     *     behind it; {@link #ONCE} where it comes once
     * @param call the number by which nodes know the call; {@link #ANY} where it is not known
     */
    public record Cancellation(RequestId request, InboundMessage notification, long number, long call) {
        /** The number of a cancellation that nobody repeats. */
        public static final long ONCE = 0;

        /** It is the newest call. */
        public static final long ANY = 0;

        /** The same for the call of this number. */
        public Cancellation of(long known) {
            return new Cancellation(request, notification, number, known);
        }
    }
}

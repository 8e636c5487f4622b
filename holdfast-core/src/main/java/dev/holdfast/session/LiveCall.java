package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Step;
import dev.holdfast.log.StreamCursor;
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
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A call with its requests, from its start until each of them is answered or given up. */
public final class LiveCall implements Call {
    private static final Logger logger = LoggerFactory.getLogger(LiveCall.class);
    /** How often a request is given to another backend that the ones before did nothing of. */
    private static final int MOST_RETURNS = 3;

    /** Nothing is to be run when the call is over: not yet, or not any more. */
    private enum Nothing implements Runnable {
        YET,
        MORE;

        @Override
        public void run() {}
    }

    /** The streams of calls that came in on other nodes have numbers from here on: those of this one count from 1. */
    public static final long LEAST_NUMBER_ELSEWHERE = 1L << 32;

    private final SessionCore core;
    /** The name of the call in the log: that of its stream, where it has one of its own. */
    final StreamId id;

    final LiveStream stream;
    /** Reads its stream from the start; absent where the answers go to the listening stream, or the client has yet to come back. */
    final @Nullable StreamCursor cursor;

    final List<Request> requests;
    final long startedAt;
    /** Whether this is the client's {@code initialize}, which opens the backend. */
    final boolean initializes;
    /** Which cancellations had come before it. */
    List<Long> behind = List.of();

    private boolean over;
    private final AtomicReference<Runnable> afterwards = new AtomicReference<>(Nothing.YET);
    private boolean rerunnable;
    private boolean again;
    /** Whether its backend goes on with what has outlived the process before. */
    private boolean goesOn;
    /** What its record keeps for the next run; absent where no answer of its client is kept with that. */
    private @Nullable Rerun kept;
    /** What its client answers now would get the place of an answer that is not kept. */
    private boolean keepsNoMore;
    /** What its client has answered to backends before, as far as the one that has it now has not asked it. */
    private final List<Rerun.Answer> given = new ArrayList<>(0);

    LiveCall(
            SessionCore core,
            StreamId id,
            LiveStream stream,
            @Nullable StreamCursor cursor,
            List<InboundMessage> messages,
            long startedAt) {
        this.core = core;
        this.id = id;
        this.stream = stream;
        this.cursor = cursor;
        this.startedAt = startedAt;
        this.initializes = initializes(messages.get(0));
        if (messages.size() == 1) {
            this.requests = List.of(new Request(this, messages.get(0)));
        } else {
            this.requests = new ArrayList<>(messages.size());
            messages.forEach(message -> requests.add(new Request(this, message)));
        }
    }

    static boolean initializes(InboundMessage request) {
        return request.method().equals("initialize");
    }

    /** The number by which other nodes know it, if one has sent it here; else {@link Cancellation#ANY}. */
    long numberElsewhere() {
        return id.number() < LEAST_NUMBER_ELSEWHERE ? Cancellation.ANY : id.number();
    }

    @Override
    public StreamId stream() {
        return stream.id();
    }

    @Override
    public CompletionStage<Boolean> note(byte[] note) {
        return core.note(this, new OutboundMessage(EventKind.NOTE, null, note));
    }

    @Override
    public Optional<StreamReader> reader() {
        return Optional.ofNullable(cursor);
    }

    public List<Request> requests() {
        return requests;
    }

    /** It may be run again, should this process end before it, by its own request, with what its client has answered. */
    void mayBeRerun(Rerun rerun, Step step) {
        mayBeRerun(step);
        goesOn = rerun.goesOn();
        given.addAll(rerun.answers());
        keepFor(rerun, step);
    }

    /** The same by a request of its backend's, which knows what was answered. */
    void mayBeRerun(Step step) {
        keepFor(null, step);
        given.clear();
        rerunnable = true;
        if (!stream.listening()) {
            stream.keepProgress(step);
        }
    }

    /** It is not: the store has no room for it. */
    void isNotRerun(Step step) {
        rerunnable = false;
    }

    boolean rerunnable() {
        return rerunnable;
    }

    boolean goesOn() {
        return goesOn;
    }

    /** Whether it waits for a backend for as long as it takes: for what goes on, or to tell of its end, of which no backend here knows. */
    boolean waitsOn() {
        return goesOn && (!answered() || requests.get(0).endsUnheard());
    }

    private void keepFor(@Nullable Rerun next, Step step) {
        long before = kept == null ? 0 : kept.size();
        kept = next == null || next.size() > Rerun.MOST_BYTES ? null : next;
        core.hold(step, (kept == null ? 0 : kept.size()) - before);
    }

    /**
     * Its client has answered something.
     *
     * @param answer empty for what must not be answered so again
     * @return what its record has to be by that; empty where it is not kept. Then no later answer is: it would get the place of this one
     */
    Optional<RecordChange> keepAnswer(Optional<Rerun.Answer> answer, Step step) {
        Rerun present = kept;
        Optional<Rerun> next = present == null || keepsNoMore
                ? Optional.empty()
                : answer.map(present::with).filter(more -> more.size() <= Rerun.MOST_BYTES);
        keepsNoMore = next.isEmpty();
        next.ifPresent(more -> keepFor(more, step));
        return next.map(
                more -> new RecordChange.CallStarted(id, List.of(requests.get(0).id()), more.pack()));
    }

    /** Another backend gets it, and may ask all again that its client has answered. */
    private void asksAnew() {
        keepsNoMore = false;
        given.clear();
        if (kept != null) {
            given.addAll(kept.answers());
        }
    }

    /** Whether its client has answered something that the backend which has it now has not asked yet. */
    boolean hasAnswers() {
        return !given.isEmpty();
    }

    /** Takes what its client has answered to the same question of a backend before; each answer once, in their order. */
    Optional<byte[]> answerTo(byte[] question, Step step) {
        Optional<Rerun.Answer> found = given.stream()
                .filter(answer -> Arrays.equals(answer.question(), question))
                .findFirst();
        found.ifPresent(given::remove);
        return found.map(Rerun.Answer::bytes);
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
        core.dispatch(this, caller);
    }

    /** Gives the requests that an incarnation of the backend has to know of into its hands; returns them. */
    List<Held> hand(int incarnation, Step step) {
        List<Held> held = new ArrayList<>(requests.size());
        for (Request request : requests) {
            if (request.progress == Progress.WAITING || request.endsUnheard()) {
                held.add(request.hand(incarnation, step));
            }
        }
        return held;
    }

    private boolean all(Predicate<Request> what) {
        for (Request request : requests) {
            if (!what.test(request)) {
                return false;
            }
        }
        return true;
    }

    /** Whether every request has its answer in the outbox at least, or was cancelled. */
    boolean answered() {
        for (Request request : requests) {
            if (request.open()) {
                return false;
            }
        }
        return true;
    }

    /** Whether a request waits for its answer, and none has one, be it only in the outbox. */
    boolean unanswered() {
        return !answered() && all(request -> request.open() || request.cancelled());
    }

    /** Whether every request has its answer committed, or was cancelled. */
    boolean done() {
        return all(Request::over);
    }

    /** What its record says with the answer that stands in the outbox now: which requests still run, or that none does. */
    RecordChange recorded() {
        if (answered()) {
            return new RecordChange.CallEnded(id);
        }
        // more than one request are never run again: nothing is kept beside
        return new RecordChange.CallStarted(
                id, requests.stream().filter(Request::open).map(Request::id).toList());
    }

    /** Why a call that is done has ended. */
    EndReason reason() {
        return all(Request::cancelled) ? EndReason.CANCELLED : EndReason.COMPLETED;
    }

    boolean ended() {
        return over;
    }

    /** Marks the call as ended; true the first time. */
    boolean end(Step step) {
        boolean first = !over;
        over = true;
        if (kept != null) {
            keepFor(null, step);
        }
        if (first) {
            step.then(afterwards.getAndSet(Nothing.MORE));
        }
        return first;
    }

    @Override
    public void whenOver(Runnable task) {
        if (!afterwards.compareAndSet(Nothing.YET, task)) {
            task.run();
        }
    }

    @Override
    public boolean givenUp() {
        return !all(request -> !request.cancelled && !request.stopped);
    }

    private enum Progress {
        /** No backend has it. */
        WAITING,
        /** A backend is being given it. */
        ENTERING,
        /** The backend that is being given it was lost; it may still give it back. */
        STRANDED,
        /** A backend has it. */
        RUNNING,
        /** Its answer stands in the outbox. */
        ANSWERED,
        /** Its answer is committed, or there will be none. */
        OVER
    }

    /** A request of a call, and what becomes of it. */
    public static final class Request {
        final LiveCall call;
        private InboundMessage message;
        private volatile Progress progress = Progress.WAITING;
        private int incarnation;
        private boolean cancelled;
        private boolean stopped;
        private volatile Optional<InboundMessage> cancellation = Optional.empty();
        /** In whose hands it is, or was last; nobody's once it was given back. */
        private @Nullable Held holder;

        private int returns;
        /** How far its client was told that it is, by all runs of it. */
        private OptionalDouble told = OptionalDouble.empty();
        /** The same, by those before this one. */
        private OptionalDouble toldBefore = OptionalDouble.empty();

        private CallWatch watch = CallWatch.NONE;

        private Request(LiveCall call, InboundMessage message) {
            this.call = call;
            this.message = message;
        }

        /** The request as its client has sent it; without its content while a backend has it, unless the journal needs that. */
        public InboundMessage message() {
            return message;
        }

        RequestId id() {
            return message.requiredId();
        }

        /** Whether a backend is being given it. */
        boolean entering() {
            return progress == Progress.ENTERING || progress == Progress.STRANDED;
        }

        /** Whether the request is neither answered nor cancelled. */
        boolean open() {
            return progress.compareTo(Progress.ANSWERED) < 0;
        }

        boolean over() {
            return progress == Progress.OVER;
        }

        boolean cancelled() {
            return cancelled;
        }

        boolean stopped() {
            return stopped;
        }

        /** The incarnation of the backend that has the request, 0 for none. */
        int incarnation() {
            return incarnation;
        }

        /** Lets somebody follow the request; false if it is over already. */
        boolean follow(CallWatch follower, Step step) {
            watch = over() ? CallWatch.NONE : follower;
            return !over();
        }

        CallWatch watch() {
            return watch;
        }

        /** Who has followed the request, which is over; told nothing more from here on. */
        CallWatch lastWatch(Step step) {
            CallWatch last = watch;
            watch = CallWatch.NONE;
            return last;
        }

        /** Whether it was given up while it was to be gone on with, and no backend knows of it. */
        private boolean endsUnheard() {
            return call.goesOn && holder == null && (cancelled || stopped);
        }

        /** Begins to give the request into the hands of an incarnation of the backend, be it to tell that it was given up. */
        Held hand(int next, Step step) {
            progress = progress == Progress.WAITING ? Progress.ENTERING : progress;
            incarnation = next;
            Held held = new Held(this);
            holder = held;
            if (message.journal() instanceof JournalChange.None) {
                message = message.withoutContent();
            }
            return held;
        }

        /** Whether the request is in these hands, or was last. */
        boolean isHeldBy(Held held) {
            return holder == held;
        }

        /**
         * The backend has done nothing of the request, and another one may get it. False where it is not in the hands of a backend any
         * more, gets its answer without one, or came back too often.
         */
        boolean giveBack(InboundMessage whole, Step step) {
            boolean waits = open() && !stopped && progress != Progress.WAITING && returns++ < MOST_RETURNS;
            if (waits) {
                progress = Progress.WAITING;
                incarnation = 0;
                holder = null;
                message = whole;
                toldBefore = told;
                call.asksAnew();
            }
            return waits;
        }

        /** Whether this incarnation was lost while it was being given the request. */
        boolean stranded(int by) {
            return progress == Progress.STRANDED && incarnation == by;
        }

        /** The incarnation has been given the request, if it still is in its hands. False if it was lost meanwhile. */
        boolean entered(int by, Step step) {
            boolean lost = stranded(by);
            if (entering() && incarnation == by) {
                progress = Progress.RUNNING;
            }
            return !lost;
        }

        /** The backend is gone. True if the request ends with it; while that is being given it, it may still give it back. */
        boolean losesBackend(Step step) {
            if (entering()) {
                progress = Progress.STRANDED;
            }
            return progress == Progress.RUNNING;
        }

        /** Whether a message still has a place on the stream. */
        boolean takes(OutboundMessage answer) {
            return open() && (!EventKind.answers(answer.kind()) || id().equals(answer.id()));
        }

        /** Whether progress goes beyond what earlier runs of the request have told; if so, it is told now. */
        boolean tellsProgress(OptionalDouble here, Step step) {
            if (toldBefore.isPresent() && here.orElse(Double.NEGATIVE_INFINITY) <= toldBefore.getAsDouble()) {
                return false;
            }
            told = here.isPresent() ? here : told;
            return true;
        }

        /** The call is run again, and the client was told of it up to here. */
        void continues(OptionalDouble upTo, Step step) {
            told = upTo;
            toldBefore = upTo;
        }

        void answer(Step step) {
            progress = Progress.ANSWERED;
        }

        /** The store does not have the answer. No backend gets the request again. */
        void unanswer(Step step) {
            progress = progress == Progress.ANSWERED ? Progress.RUNNING : progress;
        }

        /** The answer is committed, or there will be none. */
        void close(Step step) {
            progress = Progress.OVER;
        }

        /** Nobody waits for an answer any more, though there is none. */
        void cancel(InboundMessage notification, Step step) {
            progress = Progress.OVER;
            cancelled = true;
            cancellation = Optional.of(notification);
            tellBackend(step);
            CallWatch last = lastWatch(step);
            if (last != CallWatch.NONE) {
                step.then(last::cancelled);
            }
        }

        /** The backend shall give up the request, which has got its answer without it. */
        void stop(Step step) {
            stopped = true;
            tellBackend(step);
        }

        private void tellBackend(Step step) {
            Held present = holder;
            if (present != null) {
                Optional<InboundMessage> notification = cancellation;
                step.then(() -> present.cancelled(notification));
            }
        }
    }

    /**
     * A request in the hands of one incarnation of the backend, as that sees it: the way back for the answer, until it has given the
     * request back, and whom to tell that the request was cancelled, which is the hook that was set last, and that once. Safe for use
     * by any thread.
     */
    static final class Held implements CallSink {
        final Request request;
        final int incarnation;
        final CallWatch watch;
        /** The whole message, until the backend has it. */
        private @Nullable InboundMessage message;

        /** Null once it was told, and where its request was over before one could be set. */
        private @Nullable CancelHook hook;

        private Held(Request request) {
            this.request = request;
            this.incarnation = request.incarnation;
            this.watch = request.watch;
            this.message = request.message;
            this.hook = request.progress == Progress.ENTERING && !request.stopped ? notification -> {} : null;
        }

        /** Takes the message, once, for the backend. */
        InboundMessage takeMessage() {
            InboundMessage whole = Objects.requireNonNull(message);
            message = null;
            return whole;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage answer) {
            return request.call.core.send(this, answer);
        }

        @Override
        public void onCancel(CancelHook next) {
            if (swap(next) == null) {
                next.cancelled(request.cancellation);
            }
        }

        /** Sets the hook, unless one was told already; returns the one before. */
        private synchronized @Nullable CancelHook swap(@Nullable CancelHook next) {
            CancelHook last = hook;
            hook = last == null ? null : next;
            return last;
        }

        private void cancelled(Optional<InboundMessage> notification) {
            try {
                CancelHook last = swap(null);
                if (last != null) {
                    last.cancelled(notification);
                }
            } catch (Throwable e) {
                logger.error("session {}: a call could not be cancelled", request.call.core.shortId(), e);
            }
        }

        @Override
        public void disconnect(Duration retry) {
            request.call.core.disconnect(this, retry);
        }

        @Override
        public void continueBy(InboundMessage other) {
            request.call.core.continueBy(this, other);
        }

        @Override
        public String sessionId() {
            return request.call.core.id();
        }
    }
}

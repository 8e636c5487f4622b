package dev.holdfast.cluster;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.StreamReader;
import dev.holdfast.log.Step;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.log.WriteMarks;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.UnreadableException;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A cursor over a stream in the store, for what other nodes write. It reads ahead one page at a time, when it is hinted that there may
 * be more, and never while the last page is not read. Its lock is a leaf: neither store nor waker is called
 * inside, and of the session only what takes no lock.
 */
final class TailReader implements StreamReader, StreamCursor {
    private static final Logger logger = LoggerFactory.getLogger(TailReader.class);
    private static final int PAGE_BYTES = 1 << 16;

    /** What a node does for its tails. */
    interface Host {
        /** Reads from the store. */
        CompletionStage<List<Event>> read(TailReader reader, long after, int maxBytes);

        /** Looks whether the stream goes on. */
        void idle(TailReader reader);

        /** What came after this is not in the store any more, though something is behind it. */
        void jumped(TailReader reader, long after);

        /** What the client is told in the place of these answers, which will not come; takes no lock. */
        List<OutboundMessage> lastWords(Collection<RequestId> unanswered, EndReason why);

        /** What the client is told in the place of these answers, which the store has lost; takes no lock. */
        List<OutboundMessage> lost(Collection<RequestId> unanswered);

        /** Everything up to here has surely reached the client. */
        void confirmed(TailReader reader, long offset);

        /** What the store has of the stream will never be readable. */
        void unreadable(Throwable why);

        /** The connection of this reader has ended. */
        void closed(TailReader reader, Close how);
    }

    private final Host host;
    private final StreamId stream;
    /** The node that writes the stream of a call, as far as is known; empty for none. */
    private volatile String writer;
    /** Who it is among all readers of the session. */
    private final long token;

    private final Start start;
    private final WriteMarks marks = new WriteMarks();
    private final ReentrantLock lock = new ReentrantLock();
    private final TailPage page;
    /** The requests whose answers are still to come; of the listening stream none are. */
    private final Set<RequestId> open;

    private long fetched;
    private boolean fetching;
    private boolean hinted = true;
    private boolean over;
    private boolean lost;
    private @Nullable End end;
    private volatile boolean hurried;
    private volatile Waker waker = new Waker() {
        @Override
        public void wake() {}

        @Override
        public void abort() {}
    };

    /**
     * Where a reader begins.
     *
     * @param cursor it reads what comes after this
     * @param repeatThrough up to here it reads only requests to the client
     * @param epoch no event up to the cursor has a later one
     */
    record Start(long cursor, long repeatThrough, Epoch epoch) {}

    /**
     * @param writer the node that writes the stream of a call; empty for none
     * @param open the requests whose answers are to come, after which the stream ends; none for the listening stream
     */
    TailReader(Host host, StreamId stream, String writer, long token, Start start, List<RequestId> open) {
        this.host = host;
        this.stream = stream;
        this.writer = writer;
        this.token = token;
        this.start = start;
        this.open = new HashSet<>(open);
        this.page = new TailPage(stream, start);
        this.fetched = start.cursor();
    }

    StreamId stream() {
        return stream;
    }

    long token() {
        return token;
    }

    String writer() {
        return writer;
    }

    /** Another node writes the stream from now on. */
    void writtenBy(String node) {
        writer = node;
    }

    /** The last offset that was read for its client, which has it or will get it. */
    long fetched() {
        lock.lock();
        try {
            return fetched;
        } finally {
            lock.unlock();
        }
    }

    /** Looks whether the stream goes on. */
    void look() {
        host.idle(this);
    }

    boolean listening() {
        return stream.equals(StreamId.LISTENING);
    }

    private String position(long offset) {
        return EventId.text(stream, page.epoch(), Math.max(offset, start.repeatThrough()));
    }

    @Override
    public String position() {
        return position(page.cursor());
    }

    @Override
    public String position(Event event) {
        return event.offset() == Event.UNPLACED ? "" : position(event.offset());
    }

    @Override
    public void wakeWith(Waker next) {
        waker = next;
        hint();
    }

    @Override
    public void positionTold() {}

    @Override
    public boolean recorded() {
        return true;
    }

    /** There may be more. */
    void hint() {
        lock.lock();
        try {
            hinted = true;
        } finally {
            lock.unlock();
        }
        fetch();
    }

    /**
     * No event will follow those that the store has now.
     *
     * @param gone up to where the store has lost them, 0 if none
     * @return whether it is news that some are lost that were not read
     */
    boolean over(long gone) {
        boolean news;
        lock.lock();
        try {
            news = !lost && gone > fetched;
            lost |= news;
            over = true;
            hinted = true;
        } finally {
            lock.unlock();
        }
        fetch();
        return news;
    }

    private void fetch() {
        long after;
        boolean last;
        lock.lock();
        try {
            if (fetching || !hinted || !page.isEmpty() || end != null) {
                return;
            }
            fetching = true;
            hinted = false;
            after = fetched;
            last = over;
        } finally {
            lock.unlock();
        }
        StoreQuestion.ask(() -> host.read(this, after, PAGE_BYTES))
                .whenComplete((events, failure) -> fetched(events, failure, last));
    }

    private void fetched(@Nullable List<Event> events, @Nullable Throwable failure, boolean last) {
        boolean wakes;
        Optional<Long> before = Optional.empty();
        lock.lock();
        try {
            fetching = false;
            if (end == null && events != null && !events.isEmpty()) {
                before = jump(events);
                fetched = events.get(events.size() - 1).offset();
                events.forEach(this::take);
                // there may be another page
                hinted = true;
            } else if (failure == null && last && end == null) {
                say(lost ? host.lost(open) : List.of());
                end = new End(EndReason.COMPLETED, Optional.empty());
            }
            wakes = !page.isEmpty() || end != null;
        } finally {
            lock.unlock();
        }
        if (LastingQuestions.causeOf(failure) instanceof UnreadableException lost) {
            host.unreadable(lost);
        } else if (failure != null) {
            logger.debug("a stream could not be read from the store", failure);
        }
        before.ifPresent(after -> host.jumped(this, after));
        if (wakes) {
            run();
        } else if (failure == null) {
            fetch();
        }
    }

    /** Behind which offset something is missing; what was missing where it began is known to whoever has begun it. */
    private Optional<Long> jump(List<Event> events) {
        long last = fetched;
        for (Event event : events) {
            if (event.offset() > last + 1 && last > Math.max(start.cursor(), start.repeatThrough())) {
                return Optional.of(last);
            }
            last = event.offset();
        }
        return Optional.empty();
    }

    private void take(Event event) {
        RequestId id = event.id();
        boolean repeated = event.offset() <= start.repeatThrough();
        if (!repeated || event.kind() == EventKind.SERVER_REQUEST) {
            page.add(event);
        }
        if (id != null && EventKind.answers(event.kind()) && open.remove(id) && open.isEmpty()) {
            over = true;
        }
    }

    private void say(List<OutboundMessage> words) {
        words.forEach(word -> page.add(StreamCursor.unplaced(stream, page.epoch(), word)));
    }

    /** Wakes the connection. */
    @Override
    public void run() {
        try {
            if (ended().filter(now -> now.reason() == EndReason.SUPERSEDED).isPresent()) {
                waker.abort();
            } else if (hurried) {
                waker.hurry();
            } else {
                waker.wake();
            }
        } catch (RuntimeException e) {
            logger.error("a connection could not be woken", e);
        }
    }

    private Optional<End> ended() {
        lock.lock();
        try {
            return Optional.ofNullable(end);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Next read(int maxBytes) {
        Next next = take(maxBytes);
        fetch();
        return next;
    }

    private Next take(int maxBytes) {
        lock.lock();
        try {
            End now = end;
            if (now != null && (page.isEmpty() || !isReadOut(now.reason()))) {
                return now;
            }
            List<Event> found = page.take(maxBytes);
            return found.isEmpty() ? Rest.REST : new Events(found);
        } finally {
            lock.unlock();
        }
    }

    /** Whether what is here is read before the end: nobody comes back for it. */
    private static boolean isReadOut(EndReason why) {
        return why == EndReason.COMPLETED || why.advice() == EndReason.Advice.START_OVER;
    }

    @Override
    public void wrote(long began, long completed) {
        long confirmed = marks.wrote(began, completed, Math.max(cursor(), start.repeatThrough()));
        if (confirmed != WriteMarks.NOTHING) {
            host.confirmed(this, confirmed);
        }
    }

    @Override
    public void close(Close how) {
        lock.lock();
        try {
            end = end == null ? new End(EndReason.SUPERSEDED, Optional.empty()) : end;
            page.clear();
        } finally {
            lock.unlock();
        }
        host.closed(this, how);
    }

    /** Whether it has read everything that its stream will ever carry. */
    boolean atEnd() {
        return ended().filter(now -> now.reason() == EndReason.COMPLETED).isPresent();
    }

    @Override
    public long cursor() {
        lock.lock();
        try {
            return page.cursor();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void supersede(Step step) {
        supersede();
    }

    /** Ends the reading at once: a newer reader has the stream. */
    void supersede() {
        lock.lock();
        try {
            end = new End(EndReason.SUPERSEDED, Optional.empty());
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void end(EndReason reason, Optional<Duration> retry, Step step) {
        end(reason, retry);
    }

    /** Ends the reading after what was read so far. */
    void end(EndReason reason, Optional<Duration> retry) {
        lock.lock();
        try {
            if (end == null) {
                end = new End(reason, retry);
                say(host.lastWords(open, reason));
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void hurry(Step step) {
        hurried = true;
    }
}

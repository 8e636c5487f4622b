package dev.holdfast.cluster;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.EndReason;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's reading of a stream that other nodes write. A page is read ahead from the store when a hint says that there may be more,
 * and never before the last page is read.
 */
final class StoreTail implements StreamCursor.Host {
    private static final Logger logger = LoggerFactory.getLogger(StoreTail.class);
    private static final int PAGE_BYTES = 1 << 16;

    private final LiveSession session;
    private final ClusterWriter store;
    private final StreamWriters writers;
    private final Tails tails;
    private final StreamCursor.Start start;
    /** Who reads, among all readers of the session. */
    private final long token;
    /** The page that was read ahead. */
    private final LiveStream page;

    private final StreamCursor cursor;
    /** The requests whose answers are still to come, after which the stream ends; of the listening stream none are. */
    private final Set<RequestId> open;
    /** The node that writes the stream of a call, as far as is known; empty for none. */
    private volatile String writer;

    private long fetched;
    private volatile boolean fetching;
    private volatile boolean hinted = true;
    private boolean over;
    private boolean lost;
    private boolean closed;

    /**
     * @param writer the node that writes the stream of a call; empty for none
     * @param open the requests whose answers are to come; none for the listening stream
     */
    StoreTail(
            LiveSession session,
            ClusterWriter store,
            StreamWriters writers,
            Tails tails,
            StreamId stream,
            String writer,
            long token,
            StreamCursor.Start start,
            List<RequestId> open) {
        this.session = session;
        this.store = store;
        this.writers = writers;
        this.tails = tails;
        this.writer = writer;
        this.token = token;
        this.start = start;
        this.open = new HashSet<>(open);
        this.fetched = start.cursor();
        this.page = LiveStream.elsewhere(stream, start.cursor());
        this.cursor = StreamCursor.elsewhere(this, session.log(), page, start);
    }

    StreamCursor cursor() {
        return cursor;
    }

    StreamId stream() {
        return page.id();
    }

    boolean listening() {
        return page.listening();
    }

    long token() {
        return token;
    }

    String writer() {
        return writer;
    }

    /** The client begins to read; false if the session is at its end. */
    boolean enter(Attachment how) {
        return session.readers().enter(cursor, open, how);
    }

    /** The client does not begin to read, for the session has ended. */
    void endReading() {
        session.readers().endReading(cursor, open);
    }

    /** A newer connection reads the stream. */
    void supersede() {
        session.readers().leave(cursor, Close.IN_ORDER);
        session.readers().supersede(cursor);
    }

    /** There may be more. Without the session's lock where a read is on its way and another one follows: each commit hints every reader. */
    void hint() {
        if (!hinted || !fetching) {
            fetch(true);
        }
    }

    @Override
    public void drained(StreamCursor reader) {
        fetch(false);
    }

    private void fetch(boolean hint) {
        session.log().step(step -> {
            hinted |= hint;
            fetch(step);
            return hint;
        });
    }

    /** Reads ahead, if the last page is read and there may be another one. */
    private void fetch(Step step) {
        page.passOn(cursor.cursor(), step);
        if (hinted
                && !fetching
                && !closed
                && page.head() == null
                && page.ended().isEmpty()) {
            fetching = true;
            hinted = false;
            long after = fetched;
            boolean last = over;
            step.then(() -> read(after, last));
        }
    }

    /**
     * Reads the next page.
     *
     * @param last whether nothing will follow what the store has now
     */
    private void read(long after, boolean last) {
        StoreQuestion.ask(() -> store.read(session.key(), stream(), after, PAGE_BYTES))
                .whenComplete((events, failure) -> fetched(events, failure, last));
    }

    private void fetched(@Nullable List<Event> events, @Nullable Throwable failure, boolean last) {
        session.log().step(step -> {
            fetching = false;
            boolean reads = !closed && page.ended().isEmpty();
            if (reads && events != null && !events.isEmpty()) {
                jump(events).ifPresent(after -> step.then(() -> jumped(after)));
                fetched = events.get(events.size() - 1).offset();
                events.forEach(event -> take(event, step));
                // there may be another page
                hinted = true;
            } else if (reads && failure == null && last) {
                page.tellAtEnd(lost ? session.lostErrors(open) : List.of(), step);
                page.end(EndReason.COMPLETED, step);
            }
            if (page.head() != null || page.ended().isPresent()) {
                step.then(cursor);
            } else if (failure == null) {
                fetch(step);
            }
            return reads;
        });
        if (StoreQuestion.causeOf(failure) instanceof UnreadableException unreadable) {
            session.unreadable(unreadable);
        } else if (failure != null) {
            logger.debug("a stream could not be read from the store", failure);
        }
    }

    /** Behind which offset something is missing; what was missing at the start was told when the reading began. */
    private OptionalLong jump(List<Event> events) {
        long before = fetched;
        for (Event event : events) {
            if (event.offset() > before + 1 && before > Math.max(start.cursor(), start.repeatThrough())) {
                return OptionalLong.of(before);
            }
            before = event.offset();
        }
        return OptionalLong.empty();
    }

    /** Events behind this offset are missing, though later ones are there: asks the store whether they were trimmed. */
    private void jumped(long after) {
        store.look(session.key())
                .thenAccept(look -> look.map(found -> found.streams().get(stream()))
                        .filter(extent -> extent.trimmed() > after)
                        .ifPresent(extent -> missed(stream())));
    }

    private void take(Event event, Step step) {
        page.receive(event, step);
        RequestId id = event.id();
        if (id != null && EventKind.answers(event.kind()) && open.remove(id) && open.isEmpty()) {
            over = true;
        }
    }

    /** Looks whether the stream of a call goes on: its writer may have died, or have ended the call without an answer. */
    void look() {
        if (listening()) {
            return;
        }
        long seen = session.log().step(step -> fetched);
        writers.of(session, stream(), seen).thenAccept(standing -> {
            if (standing instanceof StreamWriters.Elsewhere elsewhere) {
                writer = elsewhere.node();
            } else if (!(standing instanceof StreamWriters.Here)) {
                over(standing instanceof StreamWriters.Over ended ? ended.lost(stream()) : 0);
            }
        });
    }

    /**
     * No event will follow those that the store has now.
     *
     * @param gone up to where the store has lost them, 0 if none
     */
    private void over(long gone) {
        if (endAt(gone)) {
            missed(stream());
        }
    }

    /** The same; returns whether this tells first that some are lost that were not read. */
    boolean endAt(long gone) {
        boolean first = session.log().step(step -> {
            boolean found = !lost && gone > fetched;
            lost |= found;
            over = true;
            return found;
        });
        fetch(true);
        return first;
    }

    @Override
    public void confirmed(StreamCursor reader, long offset) {
        if (listening()) {
            session.readers().confirm(offset);
            store.peers().tellOthers(session.key(), new NodeMessage.Confirmed(session.key(), offset));
        }
    }

    @Override
    public void closed(StreamCursor reader, Close how) {
        boolean complete = session.log().step(step -> {
            closed = true;
            return page.ended().filter(EndReason.COMPLETED::equals).isPresent();
        });
        session.readers().leave(cursor, how);
        if (!tails.remove(session, this) || how == Close.BROKEN) {
            return;
        }
        if (listening()) {
            confirmed(cursor, cursor.reached());
        } else if (complete) {
            writers.delivered(session, stream(), writer);
        }
    }

    @Override
    public void missed(StreamId stream) {
        session.readers().missed(stream);
    }

    @Override
    public String shortId() {
        return session.shortId();
    }
}

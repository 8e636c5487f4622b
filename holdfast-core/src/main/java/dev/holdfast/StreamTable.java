package dev.holdfast;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The streams of a session and what is kept of them. Guarded by the session's lock. */
final class StreamTable {
    private final SessionLimits limits;
    private final SessionLog log;
    private final Consumer<RequestId> questionDropped;
    private final History history;
    /** Those of calls. */
    private Map<StreamId, LiveStream> streams = Collections.emptyMap();

    private final FinishedStreams finished;
    private final Tombstones tombstones;
    private final boolean forgetful;
    /** The responses on the listening stream that are not confirmed, in order. */
    private final LazyQueue<Node> unconfirmed = new LazyQueue<>();

    private final LiveStream listening = new LiveStream(StreamId.LISTENING, List.of());
    private long lastNumber;
    private long uncommittedBytes;
    private int uncommittedEvents;

    /**
     * @param questionDropped learns of server-to-client requests that are no longer kept
     * @param clock what deadlines follow
     * @param whole counts what all sessions keep
     * @param forgetful whether nobody can come back to the listening stream: what is confirmed is not kept
     */
    StreamTable(
            SessionLimits limits,
            Lifetime lifetime,
            MessageFactory messages,
            SessionLog log,
            Consumer<RequestId> questionDropped,
            EngineClock clock,
            NodeHistory whole,
            boolean forgetful) {
        this.limits = limits;
        this.finished = new FinishedStreams(limits.finishedStreams(), lifetime, clock);
        this.tombstones = new Tombstones(messages);
        this.log = log;
        this.questionDropped = questionDropped;
        this.forgetful = forgetful;
        this.history = new History(limits, whole);
    }

    LiveStream listening() {
        return listening;
    }

    /** A new request stream; nobody sees it before it is {@link #open opened}. */
    LiveStream create(List<RequestId> requests) {
        return LiveStream.begun(nextId(), requests);
    }

    /** A name that no stream has or had. */
    StreamId nextId() {
        return new StreamId(log.epoch().counter(), ++lastNumber);
    }

    /**
     * Takes back what the store has kept of a stream that nobody has seen yet.
     *
     * @param requests the requests whose responses are still to come on it, if it is the stream of a call
     */
    LiveStream restore(StreamId id, List<RequestId> requests, List<Event> kept, SessionStore.Extent extent) {
        LiveStream stream = id.equals(StreamId.LISTENING) ? listening : new LiveStream(id, requests);
        stream.restore(kept, extent);
        if (stream != listening) {
            open(stream);
        }
        for (Optional<Node> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            keep(at.get());
        }
        return stream;
    }

    void open(LiveStream stream) {
        if (streams.isEmpty()) {
            streams = new HashMap<>();
        }
        streams.put(stream.id(), stream);
    }

    Node assign(LiveStream stream, OutboundMessage message) {
        Node node = stream.assign(message, log.epoch());
        uncommittedBytes += node.size();
        uncommittedEvents++;
        return node;
    }

    /** Whether as much is on its way to the store as a session may hold. */
    boolean overdue() {
        return uncommittedBytes >= limits.sessionBytes() || uncommittedEvents >= limits.sessionEvents();
    }

    void rollback(Node node) {
        decided(node);
        node.stream.rollback(node);
    }

    private void decided(Node node) {
        uncommittedBytes -= node.size();
        uncommittedEvents--;
    }

    /**
     * Makes an event readable, and drops what the limits then ask for.
     *
     * @return false if what must not be dropped exceeds the session's limit
     */
    boolean commit(Node node) {
        LiveStream stream = node.stream;
        decided(node);
        stream.commit(node);
        if (!node.kept) {
            log.trim(node);
            return true;
        }
        keep(node);
        shorten(stream);
        return makeRoom();
    }

    /**
     * Drops what the session's limit asks for.
     *
     * @return false if what must not be dropped exceeds it
     */
    boolean makeRoom() {
        while (history.exceeded()) {
            if (!dropNext()) {
                return false;
            }
        }
        return true;
    }

    private void keep(Node node) {
        history.add(node);
        history.rank(node, node.firstRank());
        if (node.stream.listening() && EventKind.answers(node.event.kind())) {
            unconfirmed.addLast(node);
        }
    }

    /** Drops what is to go next, if anything may. */
    private boolean dropNext() {
        Optional<Node> victim = history.next();
        victim.ifPresent(this::dropForRoom);
        return victim.isPresent();
    }

    /**
     * Drops until no more is kept than this.
     *
     * @return false if the rest must not be dropped
     */
    boolean shortenTo(NodeHistory.Level level) {
        while (history.weight() > level.bytes() || history.events() > level.events()) {
            if (!dropNext()) {
                return false;
            }
        }
        return true;
    }

    /** What the session keeps, counted. */
    History history() {
        return history;
    }

    /** The session ends: what it still keeps counts no more for the node. */
    void leave() {
        history.leave();
    }

    private void shorten(LiveStream stream) {
        while (history.exceeded(stream)) {
            Optional<Node> victim = stream.spare();
            if (victim.isEmpty()) {
                return;
            }
            dropForRoom(victim.get());
        }
    }

    private void dropForRoom(Node node) {
        history.dropped();
        drop(node);
    }

    private void drop(Node node) {
        if (node.rank == Node.FINISHED) {
            forget(node.stream);
            return;
        }
        remove(node);
    }

    private void remove(Node node) {
        if (committed(node)) {
            history.remove(node);
            log.trim(node);
        }
        node.stream.drop(node);
        RequestId id = node.event.id();
        if (id != null && EventKind.asks(node.event.kind())) {
            questionDropped.accept(id);
        }
    }

    /** The client has answered, or nobody waits for the answers any more. */
    void settle(List<Node> questions) {
        questions.forEach(this::settled);
        questions.forEach(question -> shorten(question.stream));
    }

    /** The call that asked this is over: its answer is still taken, but it need not be asked again. */
    void leave(Node node) {
        left(node);
        shorten(node.stream);
    }

    private void left(Node node) {
        node.left = true;
        rankAgain(node);
    }

    private void settled(Node node) {
        node.settled = true;
        rankAgain(node);
    }

    private void rankAgain(Node node) {
        if (committed(node)) {
            history.rank(node, node.firstRank());
        }
    }

    private static boolean committed(Node node) {
        return node.event.offset() <= node.stream.committed();
    }

    /** Everything on this stream has been delivered as well as we can know: from here on it may be dropped. */
    void finish(LiveStream stream, long now) {
        if (!stream.listening() && !stream.finished() && streams.get(stream.id()) == stream) {
            spare(stream);
            finished.delivered(stream, now);
            forgetAll(finished::surplus);
        }
    }

    /** Whether its client has everything of this stream is not known: from here on it may be dropped where room is needed. */
    void doubt(LiveStream stream, long now) {
        spare(stream);
        finished.doubtful(stream, now);
    }

    private void spare(LiveStream stream) {
        stream.finish();
        for (Optional<Node> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            Node node = at.get();
            if (EventKind.answers(node.event.kind())) {
                history.rank(node, Node.FINISHED);
            } else if (LiveStream.unanswered(node)) {
                left(node);
            }
        }
        shorten(stream);
    }

    /** The client has come back to a stream that seemed delivered: its responses must not be dropped before they are. */
    void reopen(LiveStream stream) {
        if (!stream.finished()) {
            return;
        }
        stream.reopen();
        finished.remove(stream);
        for (Optional<Node> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            if (EventKind.answers(at.get().event.kind())) {
                history.rank(at.get(), Node.HELD);
            }
        }
    }

    /** Forgets what ended in order longer ago than the retention; true if there was something. */
    boolean sweep(long now) {
        return forgetAll(() -> finished.old(now));
    }

    private boolean forgetAll(Supplier<Optional<LiveStream>> next) {
        boolean found = false;
        for (Optional<LiveStream> one = next.get(); one.isPresent(); one = next.get()) {
            forget(one.get());
            found = true;
        }
        return found;
    }

    /** Everything up to here has surely reached the client: from here on, responses on the listening stream may be dropped. */
    void confirm(LiveStream stream, long through) {
        stream.confirm(through);
        if (!stream.listening()) {
            return;
        }
        Optional<Node> next = unconfirmed.first();
        while (next.isPresent() && next.get().event.offset() <= stream.confirmed()) {
            unconfirmed.takeFirst();
            history.rank(next.get(), Node.SETTLED);
            next = unconfirmed.first();
        }
        if (forgetful) {
            dropThrough(stream, stream.confirmed());
        } else {
            shorten(stream);
        }
    }

    /** The client has everything up to here: what nobody can ask for again is released. */
    void release(LiveStream stream, long through) {
        confirm(stream, through);
        if (!stream.listening() && stream.endsAt(through)) {
            forget(stream);
            return;
        }
        dropThrough(stream, Math.min(through, stream.committed()));
    }

    /** Drops what the client has; on a call's stream its responses stay, for they are the stream's end. */
    private void dropThrough(LiveStream stream, long through) {
        Optional<Node> at = stream.oldest();
        while (at.isPresent() && at.get().event.offset() <= through) {
            Node node = at.get();
            at = Optional.ofNullable(node.next);
            boolean response = EventKind.answers(node.event.kind()) && !stream.listening();
            if (!LiveStream.answerable(node) && !response && !stream.spares(node)) {
                drop(node);
            }
        }
    }

    private void forget(LiveStream stream) {
        finished.remove(stream);
        streams.remove(stream.id());
        history.hold(tombstones.add(stream));
        for (Optional<Node> at = stream.oldest(); at.isPresent(); at = stream.oldest()) {
            remove(at.get());
        }
    }

    /** Whether a response waits for a client that has not got it, as far as we know. */
    boolean owing() {
        return owingOnListening()
                || streams.values().stream().anyMatch(stream -> stream.ended().isPresent() && !stream.finished());
    }

    private boolean owingOnListening() {
        long had = listening.reader().map(LiveReader::cursor).orElse(listening.confirmed());
        return unconfirmed.last().filter(last -> last.event.offset() > had).isPresent();
    }

    Optional<LiveStream> find(StreamId id) {
        return Optional.ofNullable(id.equals(StreamId.LISTENING) ? listening : streams.get(id));
    }

    List<LiveStream> all() {
        List<LiveStream> all = new ArrayList<>(streams.size() + 1);
        all.add(listening);
        all.addAll(streams.values());
        return all;
    }

    /** What answers a client that asks for a forgotten stream; empty if there never was such a stream, or too long ago. */
    Optional<LiveStream> afterlife(EventId cursor) {
        return tombstones.afterlife(cursor, log.epoch());
    }

    long bytes() {
        return history.bytes();
    }

    int events() {
        return history.events();
    }
}

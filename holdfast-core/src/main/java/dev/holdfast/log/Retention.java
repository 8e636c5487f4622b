package dev.holdfast.log;

import dev.holdfast.Lifetime;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * What is kept of a session's streams, and what goes when a limit asks for it, when its client has it, or when it is old. Used
 * inside a step.
 */
public final class Retention {
    private final Consumer<LiveStream> forgotten;
    private final Consumer<RequestId> questionDropped;
    private final Outbox outbox;
    private final DropOrder order;
    private final FinishedStreams finished;
    private final Tombstones tombstones;
    private final boolean forgetful;
    /** The responses on the listening stream that are not confirmed, in order. */
    private final LazyQueue<KeptEvent> unconfirmed = new LazyQueue<>();

    /** Who hears of what is not kept any more. */
    record Hearers(Consumer<LiveStream> forgotten, Consumer<RequestId> questionDropped) {}

    Retention(
            StreamSetting setting,
            Lifetime lifetime,
            Outbox outbox,
            Tombstones tombstones,
            Hearers hearers,
            boolean forgetful) {
        this.outbox = outbox;
        this.tombstones = tombstones;
        this.forgotten = hearers.forgotten;
        this.questionDropped = hearers.questionDropped;
        this.forgetful = forgetful;
        this.order = new DropOrder(setting.limits(), setting.whole());
        this.finished = new FinishedStreams(setting.limits(), lifetime, setting.clock());
    }

    /**
     * Drops what the session's limit asks for.
     *
     * @return false if what must not be dropped exceeds it
     */
    public boolean makeRoom() {
        while (order.exceeded()) {
            if (!dropNext()) {
                return false;
            }
        }
        return true;
    }

    void keep(KeptEvent node) {
        order.add(node);
        order.rank(node, node.firstRank());
        if (node.stream.listening() && EventKind.answers(node.event.kind())) {
            unconfirmed.addLast(node);
        }
    }

    /** Drops what is to go next, if anything may. */
    private boolean dropNext() {
        Optional<KeptEvent> victim = order.next();
        victim.ifPresent(this::dropForRoom);
        return victim.isPresent();
    }

    /**
     * Drops until no more is kept than this.
     *
     * @return false if the rest must not be dropped
     */
    public boolean shortenTo(long mostBytes, long mostEvents) {
        while (order.weight() > mostBytes || order.events() > mostEvents) {
            if (!dropNext()) {
                return false;
            }
        }
        return true;
    }

    void shorten(LiveStream stream) {
        while (order.exceeded(stream)) {
            Optional<KeptEvent> victim = stream.spare();
            if (victim.isEmpty()) {
                return;
            }
            dropForRoom(victim.get());
        }
    }

    private void dropForRoom(KeptEvent node) {
        order.dropped();
        drop(node);
    }

    private void drop(KeptEvent node) {
        if (node.rank == KeptEvent.FINISHED) {
            forget(node.stream);
            return;
        }
        remove(node);
    }

    private void remove(KeptEvent node) {
        if (committed(node)) {
            order.remove(node);
            outbox.trim(node);
        }
        node.stream.drop(node);
        RequestId id = node.event.id();
        if (id != null && EventKind.asks(node.event.kind())) {
            questionDropped.accept(id);
        }
    }

    /** The client has answered, or nobody waits for the answers any more. */
    public void settle(List<KeptEvent> questions) {
        questions.forEach(this::settled);
        questions.forEach(question -> shorten(question.stream));
    }

    /** The call that asked this is over: its answer is still taken, but it need not be asked again. */
    public void leave(KeptEvent node) {
        left(node);
        shorten(node.stream);
    }

    private void left(KeptEvent node) {
        node.left = true;
        rankAgain(node);
    }

    private void settled(KeptEvent node) {
        node.settled = true;
        rankAgain(node);
    }

    private void rankAgain(KeptEvent node) {
        if (committed(node)) {
            order.rank(node, node.firstRank());
        }
    }

    private static boolean committed(KeptEvent node) {
        return node.event.offset() <= node.stream.committed();
    }

    /** Whether its client has everything of this stream is not known: from here on it may be dropped where room is needed. */
    public void doubt(LiveStream stream, long now) {
        spare(stream);
        finished.doubtful(stream, now);
    }

    private void spare(LiveStream stream) {
        stream.finish();
        for (Optional<KeptEvent> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            KeptEvent node = at.get();
            if (EventKind.answers(node.event.kind())) {
                order.rank(node, KeptEvent.FINISHED);
            } else if (node.unanswered()) {
                left(node);
            }
        }
        shorten(stream);
    }

    /** The client has come back to a stream that seemed delivered: its responses must not be dropped before they are. */
    public void reopen(LiveStream stream) {
        if (!stream.finished()) {
            return;
        }
        stream.reopen();
        finished.remove(stream);
        for (Optional<KeptEvent> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            if (EventKind.answers(at.get().event.kind())) {
                order.rank(at.get(), KeptEvent.HELD);
            }
        }
    }

    /** Forgets what ended in order longer ago than the retention; true if there was something. */
    public boolean sweep(long now) {
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
    public void confirm(LiveStream stream, long through) {
        stream.confirm(through);
        if (!stream.listening()) {
            return;
        }
        Optional<KeptEvent> next = unconfirmed.first();
        while (next.isPresent() && next.get().event.offset() <= stream.confirmed()) {
            unconfirmed.takeFirst();
            order.rank(next.get(), KeptEvent.SETTLED);
            next = unconfirmed.first();
        }
        if (forgetful) {
            dropThrough(stream, stream.confirmed());
        } else {
            shorten(stream);
        }
    }

    /** The client has everything up to here: what nobody can ask for again is released. */
    public void release(LiveStream stream, long through) {
        confirm(stream, through);
        if (!stream.listening() && stream.endsAt(through)) {
            forget(stream);
            return;
        }
        dropThrough(stream, Math.min(through, stream.committed()));
    }

    /** Drops what the client has; on a call's stream its responses stay, for they are the stream's end. */
    private void dropThrough(LiveStream stream, long through) {
        Optional<KeptEvent> at = stream.oldest();
        while (at.isPresent() && at.get().event.offset() <= through) {
            KeptEvent node = at.get();
            at = Optional.ofNullable(node.next);
            boolean response = EventKind.answers(node.event.kind()) && !stream.listening();
            if (!node.answerable() && !response && !stream.spares(node)) {
                drop(node);
            }
        }
    }

    /** Nobody who comes back shall find this on the listening stream. */
    public void forget(KeptEvent node) {
        if (node.kept && committed(node)) {
            remove(node);
        }
    }

    private void forget(LiveStream stream) {
        finished.remove(stream);
        forgotten.accept(stream);
        order.hold(tombstones.add(stream));
        for (Optional<KeptEvent> at = stream.oldest(); at.isPresent(); at = stream.oldest()) {
            remove(at.get());
        }
    }

    /** Everything on this stream has been delivered as well as we can know: from here on it may be dropped. */
    void finish(LiveStream stream, long now) {
        spare(stream);
        finished.delivered(stream, now);
        forgetAll(finished::surplus);
    }

    /** Whether a response on the listening stream waits for a client that has not got it, as far as we know. */
    boolean owes(LiveStream listening) {
        long had = listening.reader().map(StreamCursor::cursor).orElse(listening.confirmed());
        return unconfirmed.last().filter(last -> last.event.offset() > had).isPresent();
    }

    /** The session keeps so much more, or less, that is no message for its client. */
    public void hold(long moreBytes) {
        order.hold(moreBytes);
    }

    /** Whether the session has kept more, since this was asked last, while all sessions together keep too much. */
    public boolean crowds() {
        return order.crowds();
    }

    /** The session ends: what it still keeps counts no more for the node. */
    public void leave() {
        order.leave();
    }

    /** Of messages. */
    public long bytes() {
        return order.bytes();
    }

    /** Of messages that must not be dropped. */
    long lastingBytes() {
        return order.lastingBytes();
    }

    /** Of everything that is kept. */
    public long weight() {
        return order.weight();
    }

    public int events() {
        return order.events();
    }
}

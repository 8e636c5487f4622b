package dev.holdfast.session;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.SessionDescription;
import dev.holdfast.StreamReader;
import dev.holdfast.log.Epochs;
import dev.holdfast.log.Epochs.ResumePoint;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Step;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;

/** Who reads the streams of a session: attaching, taking over, coming back, leaving. */
public final class Readers implements StreamCursor.Host {
    /** How long the report of another node counts that it reads the listening stream; reports come every three seconds. */
    private static final long WORD_NANOS = 10_000_000_000L;

    private final SessionCore core;
    /** The readers of what other nodes write, each with the requests whose answers it has yet to read. */
    private Map<StreamCursor, Set<RequestId>> outside = Collections.emptyMap();
    /** How many of them read the listening stream. */
    private int listenersOutside;
    /** When another node last reported that it reads the listening stream. */
    private OptionalLong readElsewhere = OptionalLong.empty();
    /** When the last reader left the listening stream; until somebody reads it, when the session came into memory. */
    private long leftAt;

    Readers(SessionCore core) {
        this.core = core;
        this.leftAt = core.clock.now();
    }

    Resume listen() {
        if (core.host.handingOver()) {
            return new Resume.Closed(EndReason.DRAINED);
        }
        return core.log.step(step -> {
            LiveStream stream = core.streams.listening();
            boolean missed = stream.dropped() > stream.confirmed();
            return read(StreamCursor.fromConfirmed(this, core.log, stream), Attachment.LISTENED, missed, step);
        });
    }

    Resume resume(EventId after) {
        if (core.host.handingOver()) {
            return new Resume.Closed(EndReason.DRAINED);
        }
        return core.log.step(step -> {
            if (core.lifecycle.closed()) {
                return new Resume.Closed(core.ended());
            }
            Optional<LiveStream> stream = core.streams.find(after.stream());
            return stream.isPresent() ? resume(stream.get(), after, step) : resumeForgotten(after, step);
        });
    }

    private Resume resume(LiveStream stream, EventId after, Step step) {
        Epochs epochs = core.log.epochs();
        boolean beyond = after.offset() > stream.committed();
        if (beyond && after.epoch().equals(core.log.epoch())) {
            return new Resume.Unknown();
        }
        ResumePoint point = epochs.resume(after);
        long cursor = point.ours() ? stream.reach(after) : 0;
        boolean missed = point.missed(cursor, stream.dropped(), stream.committed());
        core.streams.release(stream, cursor, step);
        if (stream.endsAt(cursor)) {
            stream.reader().ifPresent(older -> retire(stream, older, step));
            return new Resume.Ended();
        }
        StreamCursor reader = StreamCursor.from(this, core.log, stream, cursor);
        return read(reader, missed ? Attachment.GAP : Attachment.RESUMED, missed, step);
    }

    private Resume resumeForgotten(EventId after, Step step) {
        EventId had = core.log.epochs().had(after.epoch()) ? after : new EventId(after.stream(), core.log.epoch(), 0);
        Optional<LiveStream> errors = core.streams.afterlife(had, step);
        if (errors.isEmpty()) {
            return new Resume.Unknown();
        }
        long cursor = errors.get().dropped();
        if (errors.get().endsAt(cursor)) {
            return new Resume.Ended();
        }
        return read(StreamCursor.from(this, core.log, errors.get(), cursor), Attachment.GAP, true, step);
    }

    private Resume read(StreamCursor reader, Attachment how, boolean missed, Step step) {
        if (!attach(reader, step)) {
            return new Resume.Closed(core.ended());
        }
        core.host.telemetry.attached(how, reader.waiting());
        core.requests.watching(reader.stream()).forEach(watch -> step.then(() -> watch.attached(how)));
        if (!missed) {
            return new Resume.Resumed(reader);
        }
        step.then(() -> missed(reader.stream().id()));
        return new Resume.Gap(reader);
    }

    /** The connection that has brought a call, and counts as a reader already, reads its stream from the start. */
    void begin(StreamCursor reader, Step step) {
        core.streams.open(reader.stream(), step);
        reader.stream().take(reader, step);
    }

    /** Makes a reader the one of its stream. False if the session is at its end. */
    boolean attach(StreamCursor reader, Step step) {
        LiveStream stream = reader.stream();
        Optional<StreamCursor> older = stream.reader();
        long now = core.clock.now();
        Move move = older.isPresent() ? core.lifecycle.touch(now) : core.lifecycle.attach(now);
        if (!core.alive(move, step)) {
            return false;
        }
        core.streams.reopen(stream, step);
        stream.take(reader, step);
        if (stream.listening()) {
            core.record.follow(step);
        }
        older.ifPresent(superseded -> {
            core.host.telemetry.superseded();
            supersede(superseded, step);
        });
        return true;
    }

    /** A connection begins to read what other nodes write; false if the session is at its end. */
    public boolean enter(StreamCursor reader, Set<RequestId> open, Attachment how) {
        return core.log.step(step -> {
            if (!core.alive(core.lifecycle.attach(core.clock.now()), step)) {
                return false;
            }
            if (outside.isEmpty()) {
                outside = new LinkedHashMap<>();
            }
            outside.put(reader, open);
            if (reader.stream().listening()) {
                listenersOutside++;
                core.record.follow(step);
            }
            core.host.telemetry.attached(how, 0);
            return true;
        });
    }

    /** The client reads the listening stream on another node: the session, and the backend that is here, are in use. */
    public void readElsewhere() {
        if (core.alive(core.lifecycle.touch(core.clock.now()))) {
            core.log.run(step -> {
                leftAt = core.clock.now();
                readElsewhere = OptionalLong.of(leftAt);
                core.record.follow(step);
            });
        }
    }

    /** A connection has ended that read what other nodes write. Later calls change nothing. */
    public void leave(StreamCursor reader, StreamReader.Close how) {
        core.log.run(step -> {
            if (outside.remove(reader) == null) {
                return;
            }
            long now = core.clock.now();
            if (reader.stream().listening()) {
                listenersOutside--;
                leftAt = now;
            }
            Move move = core.lifecycle.detach(now, how);
            if (move.detaches()) {
                detached(move.after(), step);
            }
        });
    }

    /**
     * Where a client comes back that names this event. An epoch that came after the present one here is taken at its word; nobody knows
     * whether the session had one that is older than those that are known.
     *
     * @param latest the latest epoch that the session has
     * @param certainFrom the counter of the epoch since which surely nothing was lost
     */
    public ResumePoint resumePoint(EventId after, Epoch latest, int certainFrom) {
        Epoch epoch = after.epoch();
        return core.log.look(() -> {
            Epochs epochs = core.log.epochs();
            boolean forgotten = epochs.forgot(epoch);
            boolean later = epoch.counter() > core.log.epoch().counter() && epoch.counter() < latest.counter();
            boolean ours = forgotten || later || epoch.equals(latest) || epochs.had(epoch);
            return new ResumePoint(after, ours, forgotten || epoch.counter() < certainFrom);
        });
    }

    /** Up to which offset its client has surely read the listening stream, as far as the store knows, or this node. */
    public long confirmed(SessionRecord record) {
        long here = core.log.look(() -> core.streams.listening().confirmed());
        return Math.max(here, RecordState.Extension.of(record).confirmed());
    }

    /** Ends a reader that could not {@link #enter}, for the session has ended. */
    public void endReading(StreamCursor reader, Set<RequestId> open) {
        core.log.run(step -> end(reader, open, core.ended(), step));
    }

    /** The client has everything of a call's stream, on whatever node it has read it; false if that is not kept here. */
    public boolean delivered(StreamId stream) {
        long now = core.clock.now();
        return core.log.step(step -> {
            Optional<LiveStream> found = core.streams.find(stream);
            found.filter(kept -> kept.ended().isPresent()).ifPresent(kept -> core.streams.finish(kept, now, step));
            return found.isPresent();
        });
    }

    /** Keeps the stream of a call whose writer is gone and whose client has everything, for as long as a stream of this node. */
    public void adopt(StreamId stream, List<Event> kept, Extent extent) {
        long now = core.clock.now();
        core.log.run(step -> {
            if (core.lifecycle.closed() || core.streams.find(stream).isPresent()) {
                return;
            }
            LiveStream adopted = core.streams.restore(stream, kept, extent, step);
            adopted.end(EndReason.COMPLETED, step);
            core.streams.finish(adopted, now, step);
            core.streams.makeRoom(step);
            core.outbox.flush(step);
        });
    }

    /** The client has everything of the listening stream up to here, whoever wrote it. */
    public void confirm(long offset) {
        core.log.run(step -> {
            core.record.follow(step);
            core.streams.listening().advance(offset, step);
            core.streams.confirm(core.streams.listening(), offset, step);
        });
    }

    /** The client has come back with a cursor: it has everything up to here, and what it has may be dropped. */
    public void release(long offset) {
        core.log.run(step -> {
            core.record.follow(step);
            core.streams.listening().advance(offset, step);
            core.streams.release(core.streams.listening(), offset, step);
            core.outbox.flush(step);
        });
    }

    /** Lets the store forget events of the listening stream that the client has and whose nodes are gone. */
    public void trim(List<Event> had) {
        core.log.run(step -> {
            had.forEach(event -> core.outbox.trim(event.stream(), event.offset(), step));
            core.outbox.flush(step);
        });
    }

    /** A newer connection reads the stream of a call on another node. */
    public void supersede(StreamId id) {
        core.log.run(step -> core.streams
                .find(id)
                .ifPresent(stream -> stream.reader().ifPresent(older -> {
                    core.host.telemetry.superseded();
                    retire(stream, older, step);
                })));
    }

    /** The session ends, and with it the readers of what other nodes write. */
    void close(EndReason reason) {
        core.log.run(step -> outside.forEach((reader, open) -> end(reader, open, reason, step)));
    }

    /** Ends what reads outside of the session's streams, after what it has there, and with an error for each answer that will not come. */
    void end(StreamCursor reader, Set<RequestId> open, EndReason reason, Step step) {
        if (reader.stream().ended().isEmpty()) {
            reader.stream().tellAtEnd(core.finalErrors(open, reason), step);
            reader.stream().seal(reason, step);
        }
        wakeAtEnd(reader, reason, step);
    }

    /** Wakes the connection of a reader because the session is at its end. */
    static void wakeAtEnd(StreamCursor reader, EndReason reason, Step step) {
        if (reason.advice() == EndReason.Advice.START_OVER) {
            reader.hurry(step);
        }
        step.then(reader);
    }

    /** The client has everything, and has told so on another connection. */
    private void retire(LiveStream stream, StreamCursor older, Step step) {
        stream.release(older, step);
        core.lifecycle.detach(core.clock.now(), StreamReader.Close.IN_ORDER);
        supersede(older, step);
    }

    /** A newer connection takes the place of one that reads what other nodes write. */
    public void supersede(StreamCursor older) {
        core.log.run(step -> supersede(older, step));
    }

    /** Cuts the connections, whatever they have yet to write. */
    public void cut() {
        core.log.run(step ->
                core.streams.all().forEach(stream -> stream.reader().ifPresent(reader -> supersede(reader, step))));
    }

    private static void supersede(StreamCursor older, Step step) {
        older.supersede(step);
        step.then(older);
    }

    @Override
    public void confirmed(StreamCursor reader, long offset) {
        core.log.run(step -> {
            if (reader.stream().reader().filter(current -> current == reader).isPresent()) {
                core.streams.confirm(reader.stream(), offset, step);
            }
        });
    }

    @Override
    public void closed(StreamCursor reader, StreamReader.Close how) {
        core.log.run(step -> {
            LiveStream stream = reader.stream();
            if (!stream.release(reader, step)) {
                return;
            }
            if (core.outbox.closed()) {
                stream.empty(step);
            }
            if (how == StreamReader.Close.BROKEN) {
                core.requests.watching(stream).forEach(watch -> step.then(watch::detached));
            }
            long now = core.clock.now();
            leftAt = stream.listening() ? now : leftAt;
            if (how != StreamReader.Close.BROKEN) {
                core.streams.confirm(stream, reader.cursor(), step);
            }
            boolean delivered = how != StreamReader.Close.BROKEN && reader.atEnd();
            boolean cancelled =
                    stream.ended().filter(EndReason.CANCELLED::equals).isPresent() && !stream.isNoted();
            if (delivered || reader.refused() || cancelled) {
                core.streams.finish(stream, now, step);
            }
            Move move = core.lifecycle.detach(now, how);
            if (move.detaches()) {
                detached(move.after(), step);
            }
        });
    }

    private void detached(State seen, Step step) {
        Duration grace = core.lifetime.grace();
        if (!grace.isZero()) {
            step.then(() -> core.host.telemetry.detached(core.id(), grace));
        } else if (core.endsEverywhere(EndReason.DISCONNECTED)) {
            step.end(EndReason.DISCONNECTED);
        } else {
            step.then(() -> disconnected(seen));
        }
    }

    /** Its client may be connected to another node that has the session: then only time ends what is here. */
    private void disconnected(State seen) {
        core.host.cluster().isShared(core.key()).thenAccept(shared -> {
            if (!shared) {
                core.alive(core.lifecycle.closeIf(seen, EndReason.DISCONNECTED));
            }
        });
    }

    @Override
    public void missed(StreamId stream) {
        core.host.telemetry.gap(core.id(), stream.epoch() + "." + stream.number());
    }

    @Override
    public String shortId() {
        return core.shortId();
    }

    /** Sends the client of a request away for a while, if that is in these hands, unless its session would end with its connection. */
    void disconnect(LiveCall.Held held, Duration retry) {
        LiveStream stream = held.request.call.stream;
        // a client of a carrier could not come back
        if (core.kind.equals(SessionRecord.CARRIER) || !core.log.look(() -> held.request.isHeldBy(held))) {
            return;
        }
        if (!core.listensOnly || !core.lifetime.grace().isZero()) {
            end(stream, EndReason.POLLING, Optional.of(retry));
        }
    }

    /** Ends all reading, so that every client comes back to the successor of this server. */
    void handOver() {
        core.log.look(core.streams::all).forEach(stream -> end(stream, EndReason.DRAINED, Optional.empty()));
        close(EndReason.DRAINED);
    }

    private void end(LiveStream stream, EndReason reason, Optional<Duration> retry) {
        core.log.run(step -> stream.reader().ifPresent(reader -> {
            reader.end(reason, retry, step);
            step.then(reader);
        }));
    }

    /** All streams that are read or kept here, with the cursors of their readers; under the lock. */
    List<SessionDescription.OfStream> described() {
        Map<StreamId, LiveStream> all = new LinkedHashMap<>();
        Map<StreamId, List<Long>> cursors = new HashMap<>();
        core.streams.all().forEach(stream -> all.put(stream.id(), stream));
        Stream.concat(
                        core.streams.all().stream().flatMap(stream -> stream.reader().stream()),
                        outside.keySet().stream())
                .forEach(reader -> {
                    all.putIfAbsent(reader.stream().id(), reader.stream());
                    cursors.computeIfAbsent(reader.stream().id(), id -> new ArrayList<>(1))
                            .add(reader.reached());
                });
        return all.values().stream()
                .map(stream -> stream.described(cursors.getOrDefault(stream.id(), List.of())))
                .toList();
    }

    /** Whether a client reads the listening stream, on whatever node. */
    public boolean listening() {
        return core.log.look(this::isRead);
    }

    boolean isRead() {
        long now = core.clock.now();
        boolean elsewhere = readElsewhere.isPresent() && !core.clock.passed(WORD_NANOS, readElsewhere.getAsLong(), now);
        return elsewhere
                || listenersOutside > 0
                || core.streams.listening().reader().isPresent();
    }

    /** Whether a client reads the listening stream, or has read it so lately that it may be on its way back. */
    boolean followed() {
        return core.log.look(() -> {
            boolean gone = core.host.clock.passed(core.lifetime.graceNanos(), leftAt, core.clock.now());
            boolean mayReturn = core.record.followed() && !gone;
            return mayReturn || isRead();
        });
    }
}

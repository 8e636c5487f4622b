package dev.holdfast.log;

import dev.holdfast.EventId;
import dev.holdfast.Lifetime;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.Event;
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

/** The streams of a session. */
public final class Streams {
    /** Which part of what a session may keep large responses leave to all other messages. */
    private static final int SMALL_PART = 64;

    private final SessionLimits limits;
    private final Epochs epochs;
    private final Outbox outbox;
    private final Tombstones tombstones;
    private final Retention retention;
    /** Those of calls. */
    private Map<StreamId, LiveStream> streams = Collections.emptyMap();

    private final LiveStream listening = new LiveStream(StreamId.LISTENING, List.of());
    private long lastNumber;
    private long uncommittedBytes;
    /** Of those that must not be dropped once they are committed. */
    private long uncommittedLastingBytes;

    private int uncommittedEvents;

    /**
     * @param forgetful whether nobody can come back to the listening stream: what is confirmed is not kept
     */
    public Streams(StreamSetting setting, Lifetime lifetime, SessionLog log, boolean forgetful) {
        this.limits = setting.limits();
        this.epochs = log.epochs();
        this.outbox = log.outbox();
        this.tombstones = new Tombstones(setting.messages());
        this.retention = new Retention(this, setting, lifetime, log, tombstones, forgetful);
    }

    /** What is kept of them. */
    public Retention retention() {
        return retention;
    }

    public LiveStream listening() {
        return listening;
    }

    /** A name that no stream has or had. */
    public StreamId nextId(Step step) {
        return id(++lastNumber);
    }

    /** The name of a stream that begins now under a number of its own. */
    public StreamId id(long number) {
        return new StreamId(epochs.present().counter(), number);
    }

    /**
     * Takes back what the store has kept of a stream that nobody has seen yet.
     *
     * @param requests the requests whose responses are still to come on it, if it is the stream of a call
     */
    public LiveStream restore(
            StreamId id, List<RequestId> requests, List<Event> kept, SessionStore.Extent extent, Step step) {
        LiveStream stream = id.equals(StreamId.LISTENING) ? listening : new LiveStream(id, requests);
        stream.restore(kept, extent, step);
        if (stream != listening) {
            open(stream, step);
        }
        for (KeptEvent node = stream.head(); node != null; node = node.next) {
            retention.keep(node, step);
        }
        return stream;
    }

    public void open(LiveStream stream, Step step) {
        if (streams.isEmpty()) {
            streams = new HashMap<>();
        }
        streams.put(stream.id(), stream);
    }

    /** Nothing of it is kept any more. */
    void remove(LiveStream stream, Step step) {
        streams.remove(stream.id());
    }

    /** The call of this stream does not start: unless it was {@link #open opened}, nobody reads what is on its way to it. */
    public void abandon(LiveStream stream, Step step) {
        if (!stream.listening() && streams.get(stream.id()) != stream) {
            stream.abandon(step);
        }
    }

    public KeptEvent assign(LiveStream stream, OutboundMessage message, Step step) {
        KeptEvent event = outbox.placesLater(stream)
                ? stream.unplaced(message, epochs.present(), step)
                : stream.assign(message, epochs.present(), step);
        uncommittedBytes += event.size();
        uncommittedLastingBytes += event.lasting() ? event.size() : 0;
        uncommittedEvents++;
        return event;
    }

    /** Whether as much is on its way to the store as a session may hold. */
    public boolean overdue() {
        return uncommittedBytes >= limits.sessionBytes() || uncommittedEvents >= limits.sessionEvents();
    }

    /**
     * Whether a response finds room beside what must not be dropped, as it must not itself until it is delivered. Those up to {@link
     * #SMALL_PART} always do: the session ends where they are too many.
     */
    public boolean hasRoomFor(OutboundMessage response) {
        int size = KeptEvent.size(response.bytes());
        return size <= limits.sessionBytes() / SMALL_PART
                || retention.lastingBytes() + uncommittedLastingBytes + size <= mostLargeBytes();
    }

    /** How many bytes of messages a large response may complete. */
    public long mostLargeBytes() {
        return limits.sessionBytes() - limits.sessionBytes() / SMALL_PART;
    }

    public void rollback(KeptEvent event, Step step) {
        decided(event);
        event.stream.rollback(event, step);
    }

    private void decided(KeptEvent event) {
        uncommittedBytes -= event.size();
        uncommittedLastingBytes -= event.lasting() ? event.size() : 0;
        uncommittedEvents--;
    }

    /**
     * Makes an event readable, and drops what the limits then ask for.
     *
     * @return false if what must not be dropped exceeds the session's limit
     */
    public boolean commit(KeptEvent event, Step step) {
        LiveStream stream = event.stream;
        decided(event);
        if (!stream.abandoned()) {
            stream.commit(event, step);
            if (event.kept) {
                retention.keep(event, step);
                retention.shorten(stream, step);
                return retention.makeRoom(step);
            }
        }
        outbox.trim(stream.id(), event.event.offset(), step);
        return true;
    }

    /** Everything on this stream has been delivered as well as we can know: from here on it may be dropped. */
    public void finish(LiveStream stream, long now, Step step) {
        if (!stream.listening() && !stream.finished() && streams.get(stream.id()) == stream) {
            retention.finish(stream, now, step);
        }
    }

    /** Whether a response waits for a client that has not got it, as far as we know. */
    public boolean owing() {
        return retention.owes(listening)
                || streams.values().stream().anyMatch(stream -> stream.ended().isPresent() && !stream.finished());
    }

    public Optional<LiveStream> find(StreamId id) {
        return Optional.ofNullable(id.equals(StreamId.LISTENING) ? listening : streams.get(id));
    }

    public List<LiveStream> all() {
        List<LiveStream> all = new ArrayList<>(streams.size() + 1);
        all.add(listening);
        all.addAll(streams.values());
        return all;
    }

    /** What answers a client that asks for a forgotten stream; empty if there never was such a stream, or too long ago. */
    public Optional<LiveStream> afterlife(EventId cursor, Step step) {
        return tombstones.afterlife(cursor, epochs.present(), step);
    }
}

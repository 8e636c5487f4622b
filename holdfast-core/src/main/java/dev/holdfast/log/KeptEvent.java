package dev.holdfast.log;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import org.jspecify.annotations.Nullable;

/**
 * A kept event: its links in its stream, and among the session's events of the same rank in the order of dropping.
 * A dropped event keeps no links, so that a slow reader that still points at it holds nothing alive.
 */
public final class KeptEvent {
    /** Must not be dropped. */
    static final byte HELD = -1;
    /** Progress and log notifications, and pings that are settled: the first to go. */
    static final byte CHATTER = 0;
    /** Other notifications, and pings whose answer may still come: it is taken only while they are kept. */
    static final byte NOTICE = 1;
    /** Other server-to-client requests that were answered or cancelled. */
    static final byte SETTLED = 2;
    /** Responses whose connection ended in order. */
    static final byte FINISHED = 3;

    static final int RANKS = 4;

    /** What an event costs beside its bytes: this node, the event, and their links. */
    private static final int OVERHEAD = 128;

    /** The offset of an event to which the store has yet to give one: behind everything that is committed. */
    public static final long UNPLACED = Long.MAX_VALUE;

    private static final byte[] NOTHING = {};

    public final LiveStream stream;
    public Event event;
    /** What the message costs while it is kept. */
    final int size;

    final byte kind;
    /** Whether it answers a request of the client, or is kept like what does. */
    final boolean response;

    byte rank = HELD;
    public boolean kept = true;
    /** Whether a request to the client was answered, or withdrawn. */
    boolean settled;
    /** Whether the call that asked has ended, and its stream, if it had one, was delivered. */
    boolean left;
    /** Whether the client has answered this request: then it has surely got it, and must not be bothered again. */
    public boolean answered;

    @Nullable KeptEvent previous;

    public @Nullable KeptEvent next;

    @Nullable KeptEvent older;

    @Nullable KeptEvent newer;

    KeptEvent(LiveStream stream, Event event) {
        this.stream = stream;
        this.event = event;
        this.size = size(event.bytes());
        this.kind = event.kind();
        this.response = EventKind.answers(kind) || kind == EventKind.NOTE;
    }

    static int size(byte[] message) {
        return message.length + OVERHEAD;
    }

    /** The store has given it this offset, if it was to give it one. */
    void place(long offset) {
        event = event.at(offset);
    }

    void empty() {
        event = new Event(event.stream(), event.epoch(), event.offset(), kind, event.id(), NOTHING);
    }

    public boolean placed() {
        return event.offset() != UNPLACED;
    }

    boolean committed() {
        return event.offset() <= stream.committed;
    }

    /** Whether an event of this kind must not be dropped as long as its client may need it. */
    boolean lasting() {
        return response || kind == EventKind.SERVER_REQUEST;
    }

    /** The rank of an event of this kind when it is committed. */
    byte firstRank() {
        return switch (kind) {
            case EventKind.RESPONSE, EventKind.ERROR, EventKind.NOTE -> HELD;
            case EventKind.SERVER_REQUEST -> settled || left ? SETTLED : HELD;
            case EventKind.PROGRESS, EventKind.LOG -> CHATTER;
            case EventKind.PING -> settled ? CHATTER : NOTICE;
            default -> NOTICE;
        };
    }

    /** Whether this is to be asked again until the client answers. A ping is not. */
    boolean unanswered() {
        return kind == EventKind.SERVER_REQUEST && !settled && !left;
    }

    /** Whether an answer to this would still be taken. */
    public boolean answerable() {
        return EventKind.asks(kind) && !settled;
    }
}

package dev.holdfast.cluster;

import dev.holdfast.session.Cancellation;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.nio.BufferUnderflowException;
import java.util.List;

/** What one node tells another of a session that both have. Its bytes begin with a version, a kind, and the session's key. */
sealed interface NodeMessage {
    /** The version of the format. */
    byte VERSION = 1;

    /** The session. */
    SessionKey key();

    /** Another connection reads the stream: that of this token, or the one before all tokens, is to end. */
    record Superseded(SessionKey key, StreamId stream, long token) implements NodeMessage {}

    /** The session has ended. */
    record Ended(SessionKey key) implements NodeMessage {}

    /** The client has everything of the listening stream up to here. */
    record Confirmed(SessionKey key, long offset) implements NodeMessage {}

    /** The client has come back with this cursor on the listening stream. */
    record Released(SessionKey key, long offset) implements NodeMessage {}

    /** The client has everything of a call's stream. */
    record Delivered(SessionKey key, StreamId stream) implements NodeMessage {}

    /** The client has answered a question. */
    record Answered(SessionKey key, InboundMessage answer) implements NodeMessage {}

    /** The client cancels a request. */
    record Cancelled(SessionKey key, Cancellation cancellation) implements NodeMessage {}

    /** A notification of the client that the journal does not keep, for the epoch that has the backend. */
    record Notified(SessionKey key, Epoch host, InboundMessage notification) implements NodeMessage {}

    /** The client has changed the journal, which has this version now: the backend is to hear of it. */
    record Journaled(SessionKey key, long version) implements NodeMessage {}

    /** The client reads the listening stream elsewhere: the session is in use. */
    record Read(SessionKey key) implements NodeMessage {}

    /** The store may have lost what was written under epochs before this counter: a node that writes under one has to find out. */
    record Doubted(SessionKey key, int certainFrom) implements NodeMessage {}

    /**
     * A call of the client, for the epoch that has the backend.
     *
     * @param from who gets the answer
     * @param number which question of that node this is, and the number of the call's stream
     * @param behind the cancellations that had come before it, where it came in
     */
    record Forwarded(
            SessionKey key, Epoch host, String from, long number, List<InboundMessage> requests, List<Long> behind)
            implements NodeMessage {}

    /** A forwarded call is taken: its start is in the log under this epoch, and its answers go to this stream. */
    record Taken(SessionKey key, long number, StreamId stream, Epoch epoch) implements NodeMessage {}

    /** A forwarded call is not taken. */
    record Declined(SessionKey key, long number, ForwardedAnswer why) implements NodeMessage {}

    /** The message as bytes. */
    default byte[] pack() {
        MessageBytes into = new MessageBytes();
        if (this instanceof Superseded m) {
            into.head(1, key()).stream(m.stream).number(m.token);
        } else if (this instanceof Ended) {
            into.head(2, key());
        } else if (this instanceof Confirmed m) {
            into.head(3, key()).number(m.offset);
        } else if (this instanceof Released m) {
            into.head(4, key()).number(m.offset);
        } else if (this instanceof Delivered m) {
            into.head(5, key()).stream(m.stream);
        } else if (this instanceof Answered m) {
            into.head(6, key()).message(m.answer);
        } else if (this instanceof Cancelled m) {
            into.head(7, key())
                    .text(m.cancellation.request().token())
                    .message(m.cancellation.notification())
                    .number(m.cancellation.number())
                    .number(m.cancellation.call());
        } else if (this instanceof Notified m) {
            into.head(8, key()).epoch(m.host).message(m.notification);
        } else if (this instanceof Forwarded m) {
            into.head(9, key()).epoch(m.host).text(m.from).number(m.number).number(m.requests.size());
            m.requests.forEach(into::message);
            into.number(m.behind.size());
            m.behind.forEach(into::number);
        } else if (this instanceof Taken m) {
            into.head(10, key()).number(m.number).stream(m.stream).epoch(m.epoch);
        } else if (this instanceof Declined m) {
            into.head(11, key()).number(m.number).text(m.why.kind().name()).text(m.why.detail());
        } else if (this instanceof Read) {
            into.head(12, key());
        } else if (this instanceof Journaled m) {
            into.head(13, key()).number(m.version);
        } else if (this instanceof Doubted m) {
            into.head(14, key()).number(m.certainFrom);
        }
        return into.bytes();
    }

    /** Reads a message; fails with an {@link IllegalArgumentException} on one that this version does not know. */
    static NodeMessage of(byte[] message) {
        try {
            return of(new MessageBytes.Reading(message));
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("a message that was cut", e);
        }
    }

    private static NodeMessage of(MessageBytes.Reading from) {
        byte version = from.one();
        if (version != VERSION) {
            throw new IllegalArgumentException("a message of version " + version);
        }
        byte kind = from.one();
        SessionKey key = from.key();
        return switch (kind) {
            case 1 -> new Superseded(key, from.stream(), from.number());
            case 2 -> new Ended(key);
            case 3 -> new Confirmed(key, from.number());
            case 4 -> new Released(key, from.number());
            case 5 -> new Delivered(key, from.stream());
            case 6 -> new Answered(key, from.message());
            case 7 ->
                new Cancelled(
                        key,
                        new Cancellation(new RequestId(from.text()), from.message(), from.number(), from.number()));
            case 8 -> new Notified(key, from.epoch(), from.message());
            case 9 -> new Forwarded(key, from.epoch(), from.text(), from.number(), from.messages(), from.numbers());
            case 10 -> new Taken(key, from.number(), from.stream(), from.epoch());
            case 11 ->
                new Declined(
                        key,
                        from.number(),
                        new ForwardedAnswer(ForwardedAnswer.Kind.valueOf(from.text()), from.text()));
            case 12 -> new Read(key);
            case 13 -> new Journaled(key, from.number());
            case 14 -> new Doubted(key, (int) from.number());
            default -> throw new IllegalArgumentException("a message of kind " + kind);
        };
    }
}

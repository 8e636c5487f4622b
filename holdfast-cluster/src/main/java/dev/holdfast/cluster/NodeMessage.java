package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.session.Cancellation;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What one node tells another of a session that both have. Its bytes begin with a version, a kind, and the session's key. */
sealed interface NodeMessage {
    /** The version of the format. */
    byte VERSION = 1;

    /** What a message of the client changes in the journal. */
    byte NO_CHANGE = 0;

    byte PUT = 1;
    byte REMOVE = 2;

    /** The session. */
    SessionKey key();

    /** Another connection reads the stream: that of this token, or the one before all tokens, is to end. */
    record Superseded(SessionKey key, StreamId stream, long token) implements NodeMessage {}

    /**
     * The session has ended.
     *
     * @param from who waits for the word that this node knows
     * @param number which announcement of that node this is
     */
    record Ended(SessionKey key, String from, long number) implements NodeMessage {}

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

    /**
     * The client has changed the journal, which has this version now: the backend is to hear of it.
     *
     * @param from who waits for the word that this node knows
     * @param number which announcement of that node this is
     */
    record Journaled(SessionKey key, long version, String from, long number) implements NodeMessage {}

    /** A node knows what was announced. */
    record Known(SessionKey key, String node, long number) implements NodeMessage {}

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
    record Declined(SessionKey key, long number, NotTaken why) implements NodeMessage {}

    /**
     * Why a forwarded call was not taken.
     *
     * @param detail a name, or the id of a request
     */
    record NotTaken(Kind kind, String detail) {
        /** What sort of reason it is. */
        enum Kind {
            /** The session is not on that node, or has no place there, or leaves it: whoever asks looks again who has the backend. */
            NOT_HERE,
            DUPLICATE,
            REFUSED,
            CLOSED,
            /** The store failed. */
            FAILED
        }

        static final NotTaken NOT_HERE = new NotTaken(Kind.NOT_HERE, "");
        static final NotTaken FAILED = new NotTaken(Kind.FAILED, "");

        /** The same of an outcome that is none of acceptance. */
        static NotTaken of(Call.Outcome outcome) {
            if (outcome instanceof Call.Duplicate duplicate) {
                return new NotTaken(Kind.DUPLICATE, duplicate.id().token());
            } else if (outcome instanceof Call.Refused refused) {
                // a node that drains gives the backend up, be it when its last call has ended
                return refused.reason() == Refusal.DRAINING
                        ? NOT_HERE
                        : new NotTaken(Kind.REFUSED, refused.reason().name());
            } else if (outcome instanceof Call.Closed closed) {
                // a node that parks or drains has not ended the session
                return closed.reason().advice() == EndReason.Advice.RECONNECT
                        ? NOT_HERE
                        : new NotTaken(Kind.CLOSED, closed.reason().name());
            }
            throw new IllegalArgumentException("a call that was taken");
        }

        /** The outcome for the client; empty where it is to be looked again who has the backend. */
        Optional<Call.Outcome> outcome() {
            return switch (kind) {
                case DUPLICATE -> Optional.of(new Call.Duplicate(new RequestId(detail)));
                case REFUSED -> Optional.of(new Call.Refused(Refusal.valueOf(detail)));
                case CLOSED -> Optional.of(new Call.Closed(EndReason.valueOf(detail)));
                case FAILED -> Optional.of(new Call.Refused(Refusal.STORE));
                case NOT_HERE -> Optional.empty();
            };
        }
    }

    /** The message as bytes. */
    default byte[] pack() {
        Writing into = new Writing();
        if (this instanceof Superseded m) {
            into.head(1, key()).stream(m.stream).number(m.token);
        } else if (this instanceof Ended m) {
            into.head(2, key()).text(m.from).number(m.number);
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
            into.head(13, key()).number(m.version).text(m.from).number(m.number);
        } else if (this instanceof Doubted m) {
            into.head(14, key()).number(m.certainFrom);
        } else if (this instanceof Known m) {
            into.head(15, key()).text(m.node).number(m.number);
        }
        return into.bytes();
    }

    /** Reads a message; fails with an {@link IllegalArgumentException} on one that this version does not know. */
    static NodeMessage of(byte[] message) {
        try {
            return of(new Reading(message));
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("a message that was cut", e);
        }
    }

    private static NodeMessage of(Reading from) {
        byte version = from.one();
        if (version != VERSION) {
            throw new IllegalArgumentException("a message of version " + version);
        }
        byte kind = from.one();
        SessionKey key = from.key();
        return switch (kind) {
            case 1 -> new Superseded(key, from.stream(), from.number());
            case 2 -> new Ended(key, from.text(), from.number());
            case 3 -> new Confirmed(key, from.number());
            case 4 -> new Released(key, from.number());
            case 5 -> new Delivered(key, from.stream());
            case 6 -> new Answered(key, from.message());
            case 7 ->
                new Cancelled(
                        key,
                        new Cancellation(new RequestId(from.text()), from.message(), from.number(), from.number()));
            case 8 -> new Notified(key, from.epoch(), from.message());
            case 9 ->
                new Forwarded(
                        key,
                        from.epoch(),
                        from.text(),
                        from.number(),
                        from.list(1, from::message),
                        from.list(Long.BYTES, from::number));
            case 10 -> new Taken(key, from.number(), from.stream(), from.epoch());
            case 11 -> new Declined(key, from.number(), new NotTaken(NotTaken.Kind.valueOf(from.text()), from.text()));
            case 12 -> new Read(key);
            case 13 -> new Journaled(key, from.number(), from.text(), from.number());
            case 14 -> new Doubted(key, (int) from.number());
            case 15 -> new Known(key, from.text(), from.number());
            default -> throw new IllegalArgumentException("a message of kind " + kind);
        };
    }

    /** Writes the bytes of a message: numbers of eight bytes, texts and messages behind their lengths. */
    final class Writing {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream(64);

        byte[] bytes() {
            return out.toByteArray();
        }

        Writing head(int kind, SessionKey key) {
            out.write(VERSION);
            out.write(kind);
            return number(key.a()).number(key.b()).number(key.c()).number(key.d());
        }

        Writing number(long value) {
            out.writeBytes(ByteBuffer.allocate(Long.BYTES).putLong(value).array());
            return this;
        }

        Writing stream(StreamId stream) {
            return number(stream.epoch()).number(stream.number());
        }

        Writing epoch(Epoch epoch) {
            return number(epoch.counter()).number(epoch.nonce());
        }

        Writing text(String text) {
            return block(text.getBytes(StandardCharsets.UTF_8));
        }

        private Writing block(byte[] bytes) {
            number(bytes.length);
            out.writeBytes(bytes);
            return this;
        }

        Writing message(InboundMessage message) {
            RequestId id = message.id();
            text(message.kind().name());
            text(id == null ? "" : id.token());
            text(message.method());
            block(message.bytes());
            if (message.journal() instanceof JournalChange.Put put) {
                out.write(PUT);
                return text(put.key());
            } else if (message.journal() instanceof JournalChange.Remove remove) {
                out.write(REMOVE);
                return text(remove.key());
            }
            out.write(NO_CHANGE);
            return this;
        }
    }

    /** Reads them. */
    final class Reading {
        private final ByteBuffer in;

        Reading(byte[] message) {
            this.in = ByteBuffer.wrap(message);
        }

        byte one() {
            return in.get();
        }

        long number() {
            return in.getLong();
        }

        SessionKey key() {
            return new SessionKey(number(), number(), number(), number());
        }

        StreamId stream() {
            return new StreamId((int) number(), number());
        }

        Epoch epoch() {
            return new Epoch((int) number(), (int) number());
        }

        String text() {
            return new String(block(), StandardCharsets.UTF_8);
        }

        private byte[] block() {
            long length = number();
            if (length < 0 || length > in.remaining()) {
                throw new IllegalArgumentException("a message that was cut");
            }
            byte[] bytes = new byte[(int) length];
            in.get(bytes);
            return bytes;
        }

        /**
         * As many of them as a number says.
         *
         * @param least how many bytes one has at least
         */
        <T> List<T> list(int least, Supplier<T> one) {
            long count = number();
            if (count < 0 || count > in.remaining() / least) {
                throw new IllegalArgumentException("a message that was cut");
            }
            List<T> all = new ArrayList<>();
            for (long i = 0; i < count; i++) {
                all.add(one.get());
            }
            return all;
        }

        InboundMessage message() {
            InboundMessage.Kind kind = InboundMessage.Kind.valueOf(text());
            String id = text();
            String method = text();
            byte[] bytes = block();
            return new InboundMessage(kind, id(id), method, bytes, change(), InboundMessage.NO_CONTEXT);
        }

        private static @Nullable RequestId id(String token) {
            return token.isEmpty() ? null : new RequestId(token);
        }

        private JournalChange change() {
            byte change = one();
            return switch (change) {
                case NO_CHANGE -> JournalChange.NONE;
                case PUT -> new JournalChange.Put(text());
                case REMOVE -> new JournalChange.Remove(text());
                default -> throw new IllegalArgumentException("a change of the journal of kind " + change);
            };
        }
    }
}

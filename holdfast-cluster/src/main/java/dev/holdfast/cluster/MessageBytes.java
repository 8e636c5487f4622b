package dev.holdfast.cluster;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a {@link NodeMessage} stands in bytes: numbers of eight bytes, texts and messages behind their lengths. */
final class MessageBytes {
    private static final byte NO_CHANGE = 0;
    private static final byte PUT = 1;
    private static final byte REMOVE = 2;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream(64);

    byte[] bytes() {
        return out.toByteArray();
    }

    MessageBytes head(int kind, SessionKey key) {
        out.write(NodeMessage.VERSION);
        out.write(kind);
        return number(key.a()).number(key.b()).number(key.c()).number(key.d());
    }

    MessageBytes number(long value) {
        out.writeBytes(ByteBuffer.allocate(Long.BYTES).putLong(value).array());
        return this;
    }

    MessageBytes stream(StreamId stream) {
        return number(stream.epoch()).number(stream.number());
    }

    MessageBytes epoch(Epoch epoch) {
        return number(epoch.counter()).number(epoch.nonce());
    }

    MessageBytes text(String text) {
        return block(text.getBytes(StandardCharsets.UTF_8));
    }

    private MessageBytes block(byte[] bytes) {
        number(bytes.length);
        out.writeBytes(bytes);
        return this;
    }

    MessageBytes message(InboundMessage message) {
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

    /** The way back. */
    static final class Reading {
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

        List<InboundMessage> messages() {
            long count = number();
            if (count < 0 || count > in.remaining()) {
                throw new IllegalArgumentException("a message that was cut");
            }
            List<InboundMessage> all = new ArrayList<>();
            for (long i = 0; i < count; i++) {
                all.add(message());
            }
            return all;
        }

        List<Long> numbers() {
            long count = number();
            if (count < 0 || count > in.remaining() / Long.BYTES) {
                throw new IllegalArgumentException("a message that was cut");
            }
            List<Long> all = new ArrayList<>();
            for (long i = 0; i < count; i++) {
                all.add(number());
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

package dev.holdfast;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StreamId;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * A position in a stream, as the client sees it in {@code id:} and returns in {@code Last-Event-ID}: opaque to it, and good
 * only inside its own session. The text is {@code <stream epoch>.<stream number>.<epoch>.<nonce>.<offset>}, numbers in base 36.
 *
 * @param stream the stream
 * @param epoch the epoch in which the event was appended; no event up to its offset has a later one
 * @param offset the event's offset, 0 for the position before the first
 */
public record EventId(StreamId stream, Epoch epoch, long offset) {
    private static final int RADIX = 36;
    private static final int PARTS = 5;
    /** The characters of the greatest numbers, and the dots between them. */
    private static final int LONGEST = 6 + 13 + 6 + 7 + 13 + PARTS - 1;

    /** Reads a {@code Last-Event-ID}; empty if no server of this kind can have written it. */
    public static Optional<EventId> parse(String text) {
        if (text.length() > LONGEST) {
            return Optional.empty();
        }
        String[] parts = text.split("\\.", -1);
        if (parts.length != PARTS) {
            return Optional.empty();
        }
        try {
            EventId id = new EventId(
                    new StreamId(Integer.parseInt(parts[0], RADIX), Long.parseLong(parts[1], RADIX)),
                    new Epoch(Integer.parseInt(parts[2], RADIX), Integer.parseUnsignedInt(parts[3], RADIX)),
                    Long.parseLong(parts[4], RADIX));
            return id.toString().equals(text) && id.offset >= 0 ? Optional.of(id) : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /**
     * Whether a client that has come as far as this has what stands at a place of the same stream. Of two events at one place the
     * older one was lost by the store, and it is the older one that the client has.
     */
    public boolean covers(long place, Epoch at) {
        return place <= offset && at.counter() <= epoch.counter();
    }

    /** The text of an id, without the id; written from its end. {@link Long#toString(long, int)} would make a text for each number. */
    public static String text(StreamId stream, Epoch epoch, long offset) {
        byte[] text = new byte[LONGEST];
        int at = LONGEST;
        long number = offset;
        for (int part = PARTS; part > 0; part--) {
            do {
                text[--at] = (byte) Character.forDigit((int) (number % RADIX), RADIX);
                number /= RADIX;
            } while (number > 0);
            number = switch (part) {
                case PARTS -> Integer.toUnsignedLong(epoch.nonce());
                case 4 -> epoch.counter();
                case 3 -> stream.number();
                default -> stream.epoch();
            };
            if (part > 1) {
                text[--at] = '.';
            }
        }
        return new String(text, at, LONGEST - at, StandardCharsets.ISO_8859_1);
    }

    @Override
    public String toString() {
        return text(stream, epoch, offset);
    }
}

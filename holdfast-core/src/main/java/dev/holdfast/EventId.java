package dev.holdfast;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StreamId;
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
    private static final int LONGEST = 64;
    private static final int PARTS = 5;
    /** Where most ids fit; longer ones take longer. */
    private static final int USUAL_SIZE = 28;

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

    /** The text of an id, without the id. */
    public static String text(StreamId stream, Epoch epoch, long offset) {
        StringBuilder text = new StringBuilder(USUAL_SIZE);
        append(text, stream.epoch());
        append(text.append('.'), stream.number());
        append(text.append('.'), epoch.counter());
        append(text.append('.'), Integer.toUnsignedLong(epoch.nonce()));
        append(text.append('.'), offset);
        return text.toString();
    }

    /** Appends a number that is not negative; {@link Long#toString(long, int)} makes an array and a text for each. */
    private static void append(StringBuilder text, long number) {
        if (number >= RADIX) {
            append(text, number / RADIX);
        }
        text.append(Character.forDigit((int) (number % RADIX), RADIX));
    }

    @Override
    public String toString() {
        return text(stream, epoch, offset);
    }
}

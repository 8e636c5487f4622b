package dev.holdfast;

import java.util.Optional;

/** What became of a client's wish to read a stream. */
public sealed interface Resume {
    /** The reader that was attached to a stream, be it behind a gap of which it tells; empty if none was. */
    default Optional<StreamReader> attached() {
        return Optional.empty();
    }

    /**
     * Nothing is missing: the reader goes on right after the cursor.
     *
     * @param reader the reader; an older one of that stream has ended
     */
    record Resumed(StreamReader reader) implements Resume {
        @Override
        public Optional<StreamReader> attached() {
            return Optional.of(reader);
        }
    }

    /**
     * Something after the cursor was dropped or lost. The reader carries every kept event after it, in order; where the
     * response itself is gone, an error in its place.
     *
     * @param reader the reader; an older one of that stream has ended
     */
    record Gap(StreamReader reader) implements Resume {
        @Override
        public Optional<StreamReader> attached() {
            return Optional.of(reader);
        }
    }

    /** The cursor is at the end of a stream that is complete: there is nothing to come back for. */
    record Ended() implements Resume {}

    /** No such stream in this session, or a cursor that no event of it ever had. */
    record Unknown() implements Resume {}

    /**
     * The session has ended.
     *
     * @param reason why
     */
    record Closed(EndReason reason) implements Resume {}
}

package dev.holdfast.gateway.http;

import dev.holdfast.spi.SessionStore.Durability;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * The health of a store, as anybody may see it: it names neither the folder nor the error of the disk, both of which are in the log.
 *
 * @param kind as on the command line
 * @param survives what a message survives that was sent
 * @param bytes what it takes on disk, where it is there
 * @param state whether it can write and read
 */
public record StoreHealth(String kind, Durability survives, OptionalLong bytes, State state) {
    /** Whether a store can write and read. */
    public enum State {
        WELL(""),
        /** It can be read, but not written, most often until there is room again. */
        CANNOT_WRITE("cannot write; the log says why"),
        /** Something that it keeps could not be read a short while ago. */
        CANNOT_READ("cannot read; the log says why"),
        /** Something that it had kept is lost; it is told until the gateway has ended in order and started again. */
        DAMAGED("was damaged; the log says what is lost"),
        /** The disk has not said for a while what the store takes there, or Redis does not answer. */
        HANGS("does not answer"),
        /** Nodes share it, and this one may not write yet: it was away for longer than its lease, and begins again. */
        NO_LEASE("answers, but this node has no lease");

        private final String trouble;

        State(String trouble) {
            this.trouble = trouble;
        }
    }

    /** The same store where this node has no lease, which is told unless there is other trouble. */
    StoreHealth withoutLease() {
        return state == State.WELL ? new StoreHealth(kind, survives, bytes, State.NO_LEASE) : this;
    }

    /** This store and that of another server together: what both take, and the trouble of either. */
    StoreHealth with(StoreHealth other) {
        OptionalLong sum = bytes.isPresent() && other.bytes.isPresent()
                ? OptionalLong.of(bytes.getAsLong() + other.bytes.getAsLong())
                : OptionalLong.empty();
        return new StoreHealth(kind, survives, sum, state == State.WELL ? other.state : state);
    }

    /** What is wrong with it; empty if nothing is. */
    public String trouble() {
        return state.trouble;
    }

    /** A JSON object. */
    String json() {
        StringBuilder json = new StringBuilder("{\"kind\":\"").append(kind);
        json.append("\",\"survives\":\"")
                .append(survives.name().toLowerCase(Locale.ROOT).replace('_', ' '))
                .append('"');
        bytes.ifPresent(count -> json.append(",\"bytes\":").append(count));
        if (state != State.WELL) {
            json.append(",\"trouble\":\"").append(state.trouble).append('"');
        }
        return json.append('}').toString();
    }
}

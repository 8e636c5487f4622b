package dev.holdfast.rocksdb;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The part of a session's record that is small and seldom changes: it is written as a whole. Bytes that a later version appends are
 * not read.
 *
 * @param epochs oldest first, the present one last
 * @param opening the number of the store's opening in which the session was created, or claimed last
 * @param certainFrom the counter of the epoch since which surely nothing was lost
 */
record SessionHeader(
        int version,
        String kind,
        String principal,
        long expiresAt,
        byte[] extension,
        String revision,
        List<Epoch> epochs,
        int opening,
        int certainFrom) {

    /** The header of a session that was removed. */
    static final SessionHeader NONE = new SessionHeader(1, "", "", 0, new byte[0], "", List.of(new Epoch(0, 0)), 0, 1);

    static SessionHeader of(Epoch first, SessionRecord record, OpeningHistory history) {
        return new SessionHeader(
                record.version(),
                record.kind(),
                record.principal(),
                record.expiresAt(),
                record.extension(),
                record.revision(),
                List.of(first),
                history.number(),
                1);
    }

    Epoch epoch() {
        return epochs.get(epochs.size() - 1);
    }

    /** The record of which this is a part. */
    SessionRecord record(Map<String, byte[]> journal, Map<StreamId, RunningCall> running) {
        return new SessionRecord(version, kind, principal, expiresAt, extension, revision, journal, running);
    }

    SessionHeader withNextEpoch(int nonce, OpeningHistory history) {
        List<Epoch> more = new ArrayList<>(epochs);
        Epoch next = new Epoch(epoch().counter() + 1, nonce);
        int certain = opening < history.lostBefore() ? next.counter() : certainFrom;
        more.add(next);
        // the present one, and those before that a claim tells of
        if (more.size() > SessionStore.EPOCHS_KEPT + 1) {
            more.remove(0);
        }
        return new SessionHeader(
                version, kind, principal, expiresAt, extension, revision, List.copyOf(more), history.number(), certain);
    }

    SessionHeader withRevision(String other) {
        return new SessionHeader(version, kind, principal, expiresAt, extension, other, epochs, opening, certainFrom);
    }

    SessionHeader withExpiry(long other) {
        return new SessionHeader(version, kind, principal, other, extension, revision, epochs, opening, certainFrom);
    }

    SessionHeader withExtension(byte[] other) {
        return new SessionHeader(version, kind, principal, expiresAt, other, revision, epochs, opening, certainFrom);
    }

    byte[] pack() {
        List<byte[]> parts = new ArrayList<>();
        parts.add(Values.number(version));
        parts.add(Values.sized(kind));
        parts.add(Values.sized(principal));
        parts.add(Values.number(expiresAt));
        parts.add(Values.sized(extension));
        parts.add(Values.sized(revision));
        parts.add(Values.number(epochs.size()));
        for (Epoch epoch : epochs) {
            parts.add(Values.number(epoch.counter()));
            parts.add(Values.number(epoch.nonce()));
        }
        parts.add(Values.number(opening));
        parts.add(Values.number(certainFrom));
        return Values.join(parts);
    }

    static SessionHeader unpack(byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        int version = from.getInt();
        String kind = Values.text(from);
        String principal = Values.text(from);
        long expiresAt = from.getLong();
        byte[] extension = Values.sized(from);
        String revision = Values.text(from);
        int count = Values.count(from);
        List<Epoch> epochs = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            epochs.add(new Epoch(from.getInt(), from.getInt()));
        }
        // the first version did not write these
        int opening = from.hasRemaining() ? from.getInt() : 0;
        int certainFrom = from.hasRemaining() ? from.getInt() : 1;
        return new SessionHeader(
                version, kind, principal, expiresAt, extension, revision, List.copyOf(epochs), opening, certainFrom);
    }
}

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
 * The part of a session's record that is small and seldom changes: it is written as a whole. What a later version appends to
 * its bytes is not read.
 *
 * @param epochs oldest first, the present one last
 * @param opening the number of the store's opening in which the session was created, or claimed last
 * @param certainFrom the counter of the epoch since which surely nothing was lost
 */
record Header(
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
    static final Header NONE = new Header(1, "", "", 0, new byte[0], "", List.of(new Epoch(0, 0)), 0, 1);

    static Header of(Epoch first, SessionRecord record, LossMark lossMark) {
        return new Header(
                record.version(),
                record.kind(),
                record.principal(),
                record.expiresAt(),
                record.extension(),
                record.revision(),
                List.of(first),
                lossMark.number(),
                1);
    }

    Epoch epoch() {
        return epochs.get(epochs.size() - 1);
    }

    /** The record of which this is a part. */
    SessionRecord record(Map<String, byte[]> journal, Map<StreamId, RunningCall> running) {
        return new SessionRecord(version, kind, principal, expiresAt, extension, revision, journal, running);
    }

    Header withNextEpoch(int nonce, LossMark lossMark) {
        List<Epoch> more = new ArrayList<>(epochs);
        Epoch next = new Epoch(epoch().counter() + 1, nonce);
        int certain = opening < lossMark.lostBefore() ? next.counter() : certainFrom;
        more.add(next);
        // the present one, and those before that a claim tells of
        if (more.size() > SessionStore.EPOCHS_KEPT + 1) {
            more.remove(0);
        }
        return new Header(
                version,
                kind,
                principal,
                expiresAt,
                extension,
                revision,
                List.copyOf(more),
                lossMark.number(),
                certain);
    }

    Header withRevision(String other) {
        return new Header(version, kind, principal, expiresAt, extension, other, epochs, opening, certainFrom);
    }

    Header withExpiry(long other) {
        return new Header(version, kind, principal, other, extension, revision, epochs, opening, certainFrom);
    }

    Header withExtension(byte[] other) {
        return new Header(version, kind, principal, expiresAt, other, revision, epochs, opening, certainFrom);
    }

    byte[] pack() {
        Codec.Output packer = new Codec.Output(128)
                .number(version)
                .text(kind)
                .text(principal)
                .number(expiresAt)
                .sized(extension)
                .text(revision)
                .number(epochs.size());
        epochs.forEach(epoch -> packer.number(epoch.counter()).number(epoch.nonce()));
        return packer.number(opening).number(certainFrom).pack();
    }

    static Header unpack(byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        int version = from.getInt();
        String kind = Codec.text(from);
        String principal = Codec.text(from);
        long expiresAt = from.getLong();
        byte[] extension = Codec.sized(from);
        String revision = Codec.text(from);
        int count = Codec.count(from);
        List<Epoch> epochs = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            epochs.add(new Epoch(from.getInt(), from.getInt()));
        }
        // the first version did not write these
        int opening = from.hasRemaining() ? from.getInt() : 0;
        int certainFrom = from.hasRemaining() ? from.getInt() : 1;
        return new Header(
                version, kind, principal, expiresAt, extension, revision, List.copyOf(epochs), opening, certainFrom);
    }
}

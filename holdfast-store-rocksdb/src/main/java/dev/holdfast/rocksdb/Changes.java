package dev.holdfast.rocksdb;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/** The writes of one step, in order; all of them or none. They stay in memory until a thread writes them. */
final class Changes {
    private static final int OVERHEAD = 16;

    private final List<Change> list = new ArrayList<>(4);
    private int bytes;

    /** One of them: the end is given where it is of all keys up to there. */
    private record Change(byte[] key, byte @Nullable [] value, byte @Nullable [] end) {}

    void put(byte[] key, byte[] value) {
        list.add(new Change(key, value, null));
        bytes += key.length + value.length + OVERHEAD;
    }

    void delete(byte[] key) {
        list.add(new Change(key, null, null));
        bytes += key.length + OVERHEAD;
    }

    /** Deletes from a key on, to before another. */
    void deleteRange(byte[] from, byte[] to) {
        list.add(new Change(from, null, to));
        bytes += from.length + to.length + OVERHEAD;
    }

    boolean isEmpty() {
        return list.isEmpty();
    }

    int bytes() {
        return bytes;
    }

    void addTo(WriteBatch batch) throws RocksDBException {
        for (Change change : list) {
            byte[] value = change.value;
            byte[] end = change.end;
            if (value != null) {
                batch.put(change.key, value);
            } else if (end != null) {
                batch.deleteRange(change.key, end);
            } else {
                batch.delete(change.key);
            }
        }
    }
}

package dev.holdfast.rocksdb;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/** What one step writes, in order, all of it or nothing. Kept outside of RocksDB until it is known who writes it. */
final class Changes {
    private static final int OVERHEAD = 16;

    private final List<Change> list = new ArrayList<>(4);
    private int bytes;

    private record Change(byte[] key, byte @Nullable [] value) {}

    void put(byte[] key, byte[] value) {
        list.add(new Change(key, value));
        bytes += key.length + value.length + OVERHEAD;
    }

    void delete(byte[] key) {
        list.add(new Change(key, null));
        bytes += key.length + OVERHEAD;
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
            if (value == null) {
                batch.delete(change.key);
            } else {
                batch.put(change.key, value);
            }
        }
    }
}

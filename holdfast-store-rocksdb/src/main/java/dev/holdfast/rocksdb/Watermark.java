package dev.holdfast.rocksdb;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.OptionalLong;

/**
 * How far RocksDB's log was acknowledged: the number of its last write, in a mapped file, so that it costs no system call and
 * outlives the process. If RocksDB recovers less of its log, acknowledged writes are lost.
 *
 * <p>The file has two places, each a number and its complement, written in turn: if the process dies while it writes one, the other
 * is still whole. One writer at a time.
 */
final class Watermark {
    static final String FILE = "WATERMARK";
    private static final int PLACES = 2;
    private static final int PLACE_BYTES = 2 * Long.BYTES;

    private final ByteBuffer file;
    private int next;

    private Watermark(ByteBuffer file) {
        this.file = file;
    }

    /** One in memory, for a database that is not in use yet. */
    static Watermark ofNothing() {
        return new Watermark(ByteBuffer.allocate(PLACES * PLACE_BYTES));
    }

    static Watermark open(Path folder) throws IOException {
        Path path = folder.resolve(FILE);
        try (FileChannel channel = FileChannel.open(
                path,
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS)) {
            int size = PLACES * PLACE_BYTES;
            if (channel.size() < size) {
                // a full disk fails here, and not when the page is first touched
                channel.write(ByteBuffer.allocate(size), 0);
                channel.force(true);
            }
            return new Watermark(channel.map(FileChannel.MapMode.READ_WRITE, 0, size));
        }
    }

    /** Whether it was never set. */
    boolean isBlank() {
        boolean blank = true;
        for (int at = 0; at < PLACES * PLACE_BYTES; at += Long.BYTES) {
            blank &= file.getLong(at) == 0;
        }
        return blank;
    }

    /** What was set last; empty if it cannot be told. */
    OptionalLong last() {
        OptionalLong last = OptionalLong.empty();
        for (int place = 0; place < PLACES; place++) {
            long number = file.getLong(place * PLACE_BYTES);
            boolean whole = number == ~file.getLong(place * PLACE_BYTES + Long.BYTES);
            if (whole && number >= last.orElse(0)) {
                last = OptionalLong.of(number);
            }
        }
        return last;
    }

    /** Everything up to this number is acknowledged from now on. */
    void set(long number) {
        int at = next * PLACE_BYTES;
        file.putLong(at, number);
        file.putLong(at + Long.BYTES, ~number);
        next = 1 - next;
    }

    /** Starts again from this number, and waits until the disk has it. */
    void reset(long number) {
        set(number);
        set(number);
        force();
    }

    void force() {
        if (file instanceof MappedByteBuffer mapped) {
            mapped.force();
        }
    }
}

package dev.holdfast.rocksdb;

import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** A client's connection to one stream. It reads when it is told to. */
final class Line implements StreamReader.Waker {
    private final StreamReader reader;
    private String lastEventId;
    private boolean ended;

    Line(StreamReader reader) {
        this.reader = reader;
        this.lastEventId = reader.position();
        reader.positionTold();
        reader.wakeWith(this);
        reader.recorded();
    }

    /** One that goes on where nothing is missing. */
    static Line resumed(CompletionStage<Resume> resume) {
        return new Line(((Resume.Resumed) resume.toCompletableFuture().join()).reader());
    }

    /** One that goes on where something may be missing. */
    static Line gap(CompletionStage<Resume> resume) {
        return new Line(((Resume.Gap) resume.toCompletableFuture().join()).reader());
    }

    @Override
    public void wake() {}

    @Override
    public void abort() {}

    /** Reads what is committed, and returns it. */
    List<String> read() {
        List<String> found = new ArrayList<>();
        StreamReader.Next next = reader.read(Integer.MAX_VALUE);
        while (next instanceof StreamReader.Events events) {
            for (Event event : events.events()) {
                found.add(Words.text(event.bytes()));
                lastEventId = reader.position(event);
            }
            next = reader.read(Integer.MAX_VALUE);
        }
        ended = next instanceof StreamReader.End;
        return found;
    }

    /** Tells that what was read has been written. */
    void wrote(long now) {
        reader.wrote(now, now);
    }

    /** Whether the reading had come to the stream's end. */
    boolean ended() {
        return ended;
    }

    void close() {
        reader.close(StreamReader.Close.IN_ORDER);
    }

    /** Where the client goes on when it comes back. */
    EventId cursor() {
        return EventId.parse(lastEventId).orElseThrow();
    }
}

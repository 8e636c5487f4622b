package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.spi.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The connection of one reader, and the client at its other end. It reads when it is told to. */
final class Connection implements StreamReader.Waker {
    final StreamReader reader;
    /** What the client got, as text. */
    final List<String> received = new ArrayList<>();

    int woken;
    boolean hurried;
    boolean aborted;
    Optional<StreamReader.End> end = Optional.empty();
    /** What the client will send as {@code Last-Event-ID}. */
    String lastEventId;

    Connection(StreamReader reader) {
        this(reader, false);
        boolean unused = headDue();
        woken = 0;
    }

    /** One whose client hears nothing of it yet. */
    static Connection unheard(StreamReader reader) {
        return new Connection(reader, true);
    }

    private Connection(StreamReader reader, boolean unheard) {
        this.reader = reader;
        this.lastEventId = reader.position();
        reader.wakeWith(this);
        if (!unheard) {
            reader.positionTold();
        }
    }

    /** Tells the client where it is, so that it can come back, if that may be told; else it is asked for. */
    boolean headDue() {
        boolean recorded = reader.recorded();
        if (recorded) {
            reader.positionTold();
        }
        return recorded;
    }

    static Connection resumed(CompletionStage<Resume> resume) {
        return new Connection(((Resume.Resumed) TestBed.now(resume)).reader());
    }

    static Connection gap(CompletionStage<Resume> resume) {
        return new Connection(((Resume.Gap) TestBed.now(resume)).reader());
    }

    @Override
    public void wake() {
        woken++;
    }

    @Override
    public void hurry() {
        woken++;
        hurried = true;
    }

    @Override
    public void abort() {
        woken++;
        aborted = true;
    }

    /** Reads and writes until there is nothing more, and returns everything received so far. */
    List<String> read() {
        boolean more;
        do {
            more = readOnce(Integer.MAX_VALUE);
        } while (more);
        return received;
    }

    /** Reads and writes once; false if there was nothing. */
    boolean readOnce(int maxBytes) {
        StreamReader.Next next = reader.read(maxBytes);
        if (next instanceof StreamReader.Events events) {
            for (Event event : events.events()) {
                received.add(Wire.text(event));
                String position = reader.position(event);
                lastEventId = position.isEmpty() ? lastEventId : position;
            }
            return true;
        }
        if (next instanceof StreamReader.End ended) {
            end = Optional.of(ended);
        }
        return false;
    }

    /** The reason why reading has ended. */
    EndReason reason() {
        read();
        return end.orElseThrow().reason();
    }

    /** Where the client goes on when it comes back. */
    EventId cursor() {
        return EventId.parse(lastEventId).orElseThrow();
    }

    void broken() {
        reader.close(Close.BROKEN);
    }

    void inOrder() {
        reader.close(Close.IN_ORDER);
    }

    void handover() {
        reader.close(Close.HANDOVER);
    }
}

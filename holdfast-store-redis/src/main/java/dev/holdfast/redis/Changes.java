package dev.holdfast.redis;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What {@code commit.lua} reads behind the number of a commit. */
final class Changes {
    private final List<byte[]> arguments;

    private Changes(List<byte[]> arguments) {
        this.arguments = arguments;
    }

    /** Adds the events, the trims and the changes of an append to a script's arguments. */
    static void add(Append append, List<byte[]> arguments) {
        arguments.add(Codec.digits(append.events().size()));
        for (Event event : append.events()) {
            arguments.add(Codec.stream(event.stream()));
            arguments.add(Codec.digits(event.offset()));
            arguments.add(EventCodec.rest(event));
        }
        arguments.add(Codec.digits(append.trims().size()));
        for (Append.Trim trim : append.trims()) {
            arguments.add(Codec.stream(trim.stream()));
            arguments.add(Codec.packed(trim.offset()));
        }
        Changes changes = new Changes(arguments);
        append.changes().forEach(change -> changes.add(change, append.events()));
    }

    /** The requests that events answer on a stream, packed; empty if none do. */
    private static byte[] answered(StreamId stream, List<Event> events) {
        List<RequestId> answered = new ArrayList<>(1);
        for (Event event : events) {
            RequestId id = event.id();
            if (id != null && EventKind.answers(event.kind()) && event.stream().equals(stream)) {
                answered.add(id);
            }
        }
        return answered.isEmpty() ? new byte[0] : StoredSession.call(answered, SessionRecord.NO_EXTENSION);
    }

    private void add(RecordChange change, List<Event> events) {
        if (change instanceof RecordChange.CallStarted started) {
            add('C', Codec.stream(started.stream()), StoredSession.call(started.requests(), started.extension()));
        } else if (change instanceof RecordChange.CallEnded ended) {
            add('D', Codec.stream(ended.stream()), answered(ended.stream(), events));
        } else if (change instanceof RecordChange.Negotiated negotiated) {
            add('F', Codec.text(StoredSession.REVISION), Codec.text(negotiated.revision()));
            add('J', Codec.text(SessionRecord.INITIALIZE), negotiated.initialize());
        } else if (change instanceof RecordChange.JournalPut put) {
            add('J', Codec.text(put.key()), put.message());
        } else if (change instanceof RecordChange.JournalRemoved removed) {
            add('K', Codec.text(removed.key()));
        } else if (change instanceof RecordChange.Expires expires) {
            add('X', Codec.digits(expires.at()));
        } else if (change instanceof RecordChange.Extended extended) {
            add('F', Codec.text(StoredSession.EXTENSION), extended.extension());
        }
    }

    private void add(char letter, byte[]... values) {
        arguments.add(new byte[] {(byte) letter});
        Collections.addAll(arguments, values);
    }
}

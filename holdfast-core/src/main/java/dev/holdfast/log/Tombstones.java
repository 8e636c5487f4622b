package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.log.LiveStream.Answer;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is left of forgotten streams, so that a client that asks for one gets a definite answer: the latest 1,024, as long as
 * they are no longer than 64 KiB altogether.
 */
final class Tombstones {
    private static final int LIMIT = 1024;
    private static final int MOST_BYTES = 1 << 16;
    private static final int GONE = -32603;
    private static final String DROPPED =
            "the response to this request is no longer kept: it was dropped before the client came back";

    private final MessageFactory messages;
    private @Nullable PackedQueue stones;
    private int count;

    Tombstones(MessageFactory messages) {
        this.messages = messages;
    }

    /** Remembers a stream, and forgets others; returns how many bytes it keeps more than before. */
    int add(LiveStream stream) {
        if (stones == null) {
            stones = new PackedQueue();
        }
        PackedQueue kept = stones;
        int before = kept.size();
        write(kept, stream.id(), stream.answers());
        count++;
        while (count > LIMIT || kept.size() > MOST_BYTES) {
            PackedQueue.Reader oldest = kept.reader();
            pass(oldest);
            oldest.remove();
            count--;
        }
        // one that is too large alone has pushed out all
        stones = count == 0 ? null : kept;
        return kept.size() - before;
    }

    private static void write(PackedQueue stones, StreamId stream, List<Answer> answers) {
        stones.put(stream.epoch());
        stones.put(stream.number());
        stones.put(answers.size());
        for (Answer answer : answers) {
            stones.put(answer.request().token());
            stones.put(answer.offset());
            stones.put(answer.epoch().counter());
            stones.put(Integer.toUnsignedLong(answer.epoch().nonce()));
        }
    }

    private static void pass(PackedQueue.Reader stone) {
        stone.number();
        stone.number();
        for (long answers = stone.number(); answers > 0; answers--) {
            stone.passText();
            stone.number();
            stone.number();
            stone.number();
        }
    }

    private static StreamId id(PackedQueue.Reader from) {
        return new StreamId((int) from.number(), from.number());
    }

    private static List<Answer> answers(PackedQueue.Reader from) {
        int size = (int) from.number();
        List<Answer> answers = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            RequestId request = new RequestId(from.text());
            answers.add(new Answer(request, from.number(), new Epoch((int) from.number(), (int) from.number())));
        }
        return answers;
    }

    private Optional<List<Answer>> find(StreamId stream) {
        if (stones != null) {
            for (PackedQueue.Reader at = stones.reader(); !at.atEnd(); ) {
                boolean found = id(at).equals(stream);
                List<Answer> answers = answers(at);
                if (found) {
                    return Optional.of(answers);
                }
            }
        }
        return Optional.empty();
    }

    /** A forgotten stream as its client gets to see it: an error in the place of each response after its cursor. */
    Optional<LiveStream> afterlife(EventId cursor, Epoch epoch, Step step) {
        return find(cursor.stream()).map(answers -> afterlife(answers, cursor, epoch, step));
    }

    private LiveStream afterlife(List<Answer> answers, EventId cursor, Epoch epoch, Step step) {
        List<Answer> missing = answers.stream()
                .filter(answer -> !cursor.covers(answer.offset(), answer.epoch()))
                .toList();
        long had = missing.isEmpty()
                ? cursor.offset()
                : Math.min(cursor.offset(), missing.get(0).offset() - 1);
        LiveStream stream = new LiveStream(cursor.stream(), had);
        for (Answer answer : missing) {
            stream.skipTo(answer.offset(), step);
            stream.commit(stream.assign(messages.error(answer.request(), GONE, DROPPED), epoch, step), step);
        }
        stream.end(EndReason.COMPLETED, step);
        return stream;
    }
}

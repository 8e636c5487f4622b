package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.StreamId;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is left of forgotten streams, so that a client that asks for one gets a definite answer: the latest 1,024, as long as
 * their request ids are no longer than 64 KiB altogether. Used inside a step.
 */
final class Tombstones {
    private static final int LIMIT = 1024;
    private static final int MOST_BYTES = 1 << 16;
    private static final int GONE = -32603;
    private static final String DROPPED =
            "the response to this request is no longer kept: it was dropped before the client came back";

    private final MessageFactory messages;
    private Map<StreamId, List<LiveStream.Answer>> stones = Collections.emptyMap();
    private int bytes;

    Tombstones(MessageFactory messages) {
        this.messages = messages;
    }

    /** Remembers a stream, and forgets others; returns how many bytes of ids it keeps more than before. */
    int add(LiveStream stream) {
        int before = bytes;
        if (stones.isEmpty()) {
            stones = new LinkedHashMap<>();
        }
        List<LiveStream.Answer> answers = stream.answers();
        stones.put(stream.id(), answers);
        bytes += size(answers);
        while (stones.size() > LIMIT || bytes > MOST_BYTES) {
            Iterator<List<LiveStream.Answer>> oldest = stones.values().iterator();
            bytes -= size(oldest.next());
            oldest.remove();
        }
        return bytes - before;
    }

    private static int size(List<LiveStream.Answer> answers) {
        int sum = 0;
        for (LiveStream.Answer answer : answers) {
            sum += answer.request().token().length();
        }
        return sum;
    }

    /** A forgotten stream as its client gets to see it: an error in the place of each response after its cursor. */
    Optional<LiveStream> afterlife(EventId cursor, Epoch epoch) {
        List<LiveStream.Answer> answers = stones.get(cursor.stream());
        if (answers == null) {
            return Optional.empty();
        }
        List<LiveStream.Answer> missing = answers.stream()
                .filter(answer -> !cursor.covers(answer.offset(), answer.epoch()))
                .toList();
        long had = missing.isEmpty()
                ? cursor.offset()
                : Math.min(cursor.offset(), missing.get(0).offset() - 1);
        LiveStream stream = new LiveStream(cursor.stream(), List.of(), had);
        for (LiveStream.Answer answer : missing) {
            stream.skipTo(answer.offset());
            stream.commit(stream.assign(messages.error(answer.request(), GONE, DROPPED), epoch));
        }
        stream.end(EndReason.COMPLETED);
        return Optional.of(stream);
    }
}

package dev.holdfast;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is left of forgotten streams, so that a client that asks for one gets a definite answer: the latest 1,024, as long as
 * their request ids are no longer than 64 KiB altogether. Guarded by the session's lock.
 */
final class Tombstones {
    private static final int LIMIT = 1024;
    private static final int MOST_BYTES = 1 << 16;
    private static final int GONE = -32603;
    private static final String DROPPED =
            "the response to this request is no longer kept: it was dropped before the client came back";

    private final MessageFactory messages;
    private Map<StreamId, List<Answer>> stones = Collections.emptyMap();
    private int bytes;

    /**
     * A response that is no longer kept.
     *
     * @param request what it answered
     * @param offset its place in its stream
     */
    record Answer(RequestId request, long offset) {}

    Tombstones(MessageFactory messages) {
        this.messages = messages;
    }

    /** Remembers a stream, and forgets others; returns how many bytes of ids it keeps more than before. */
    int add(LiveStream stream) {
        int before = bytes;
        if (stones.isEmpty()) {
            stones = new LinkedHashMap<>();
        }
        List<Answer> answers = stream.answers();
        stones.put(stream.id(), answers);
        bytes += size(answers);
        while (stones.size() > LIMIT || bytes > MOST_BYTES) {
            Iterator<List<Answer>> oldest = stones.values().iterator();
            bytes -= size(oldest.next());
            oldest.remove();
        }
        return bytes - before;
    }

    private static int size(List<Answer> answers) {
        return answers.stream()
                .mapToInt(answer -> answer.request.token().length())
                .sum();
    }

    /** A forgotten stream as its client gets to see it: an error in the place of each response after its cursor. */
    Optional<LiveStream> afterlife(StreamId id, long cursor, Epoch epoch) {
        List<Answer> answers = stones.get(id);
        if (answers == null) {
            return Optional.empty();
        }
        LiveStream stream = new LiveStream(id, List.of(), cursor);
        for (Answer answer : answers) {
            if (answer.offset > cursor) {
                stream.skipTo(answer.offset);
                stream.commit(stream.assign(messages.error(answer.request, GONE, DROPPED), epoch));
            }
        }
        stream.end(EndReason.COMPLETED);
        return Optional.of(stream);
    }
}

package dev.holdfast;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is left of forgotten streams, so that a client that asks for one gets a definite answer: the latest 1,024. Guarded by
 * the session's lock.
 */
final class Tombstones {
    private static final int LIMIT = 1024;
    private static final int GONE = -32603;
    private static final String DROPPED =
            "the response to this request is no longer kept: it was dropped before the client came back";

    private final MessageFactory messages;
    private Map<StreamId, List<Answer>> stones = Collections.emptyMap();

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

    void add(LiveStream stream) {
        if (stones.isEmpty()) {
            stones = new LinkedHashMap<>();
        }
        stones.put(stream.id(), stream.answers());
        if (stones.size() > LIMIT) {
            stones.remove(stones.keySet().iterator().next());
        }
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

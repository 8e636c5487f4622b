package dev.holdfast;

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

    private Map<StreamId, List<Answer>> stones = Collections.emptyMap();

    /**
     * A response that is no longer kept.
     *
     * @param request what it answered
     * @param offset its place in its stream
     */
    record Answer(RequestId request, long offset) {}

    void add(LiveStream stream) {
        if (stones.isEmpty()) {
            stones = new LinkedHashMap<>();
        }
        stones.put(stream.id(), stream.answers());
        if (stones.size() > LIMIT) {
            stones.remove(stones.keySet().iterator().next());
        }
    }

    /** The responses of a forgotten stream after an offset, in order; empty if there is no such stream. */
    Optional<List<Answer>> after(StreamId stream, long offset) {
        return Optional.ofNullable(stones.get(stream))
                .map(answers -> answers.stream()
                        .filter(answer -> answer.offset() > offset)
                        .toList());
    }
}

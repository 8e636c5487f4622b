package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Collection;
import java.util.List;

/**
 * What the client of a call is told when its session has ended and no store takes the answer any more: an error for each request
 * without one. It has no place in its stream, and so no id: whoever has it stands where they stood. Takes no lock.
 */
final class LastWords {
    private static final String LOST = "the response to this request is lost: the session store has it no more";

    private final SessionCore core;

    LastWords(SessionCore core) {
        this.core = core;
    }

    /** What ends all calls of a session that has ended. */
    static String cause(EndReason why) {
        return "the session has ended: " + why.text();
    }

    /** What ends calls whose answers the store has lost. */
    List<OutboundMessage> lost(Collection<RequestId> unanswered) {
        return unanswered.stream()
                .map(request -> core.host().messages().error(request, Answers.INTERNAL_ERROR, LOST))
                .toList();
    }

    /** Nothing where the session can be found again: there its calls go on, or are ended. */
    List<OutboundMessage> to(Collection<RequestId> unanswered, EndReason why) {
        return core.leavesToStore(why)
                ? List.of()
                : unanswered.stream()
                        .map(request -> core.host().messages().error(request, Answers.INTERNAL_ERROR, cause(why)))
                        .toList();
    }
}

package dev.holdfast;

import java.util.Map;

/**
 * What an engine holds, and what it has counted since it was built. The numbers are read one after the other while others work:
 * they need not add up exactly.
 *
 * @param sessions sessions in memory
 * @param parked sessions that have left memory and wait in the store; those of an earlier process count once somebody has asked for them
 * @param runningCalls requests that run; those of a batch count one by one
 * @param historyBytes bytes of kept messages
 * @param historyEvents kept messages
 * @param created sessions that were opened
 * @param ended sessions that ended, by reason
 * @param refused what was refused, by reason
 * @param gaps how often a client missed messages that were dropped before it could read them, or may have missed some that the
 *     store lost
 * @param dropped messages that were dropped because a limit asked for it
 * @param timedOut calls that ran longer than they may
 */
public record EngineStats(
        int sessions,
        int parked,
        int runningCalls,
        long historyBytes,
        long historyEvents,
        long created,
        Map<EndReason, Long> ended,
        Map<Refusal, Long> refused,
        long gaps,
        long dropped,
        long timedOut) {

    public EngineStats {
        ended = Map.copyOf(ended);
        refused = Map.copyOf(refused);
    }
}

package dev.holdfast;

import dev.holdfast.SessionLifecycleListener.TaskEvent;
import java.util.Map;

/**
 * What an engine holds, and what it has counted since it was built. The numbers are read one after the other while others work:
 * they need not add up exactly.
 *
 * @param sessions sessions in memory
 * @param states the same by state; those that have ended and are not forgotten yet are not among them
 * @param carriers those of the sessions in memory that carry requests of a revision without sessions
 * @param connections connections that read a stream
 * @param parked sessions that have left memory and wait in the store; those of an earlier process count once somebody has asked for
 *     them; always 0 where nodes share the store
 * @param runningCalls requests that run here, or are on their way to the node that has their backend; those of a batch count one by one
 * @param historyBytes bytes of kept messages
 * @param historyEvents kept messages
 * @param created sessions that were opened
 * @param ended sessions that ended, by reason
 * @param refused what was refused, by reason
 * @param gaps how often a client missed messages that were dropped before it could read them, or may have missed some that the
 *     store lost
 * @param dropped messages that were dropped because a limit asked for it
 * @param unsolicited progress of backends that was not sent, since no running call had asked for it
 * @param timedOut calls that ran longer than they may
 * @param listened how often a client came to read its listening stream
 * @param resumed how often a client came back to a stream with an event id, those included who missed something
 * @param superseded how often a newer connection took a stream over from one that was still there
 * @param replayed messages that were kept for a client when it came to read a stream, and are sent to it then
 * @param restored sessions that got a fresh backend
 * @param writeStalls how often the peer of a connection took no bytes, by what became of it
 * @param tasks what happened to calls whose clients have handles
 */
public record EngineStats(
        int sessions,
        Map<SessionState, Integer> states,
        int carriers,
        int connections,
        int parked,
        int runningCalls,
        long historyBytes,
        long historyEvents,
        long created,
        Map<EndReason, Long> ended,
        Map<Refusal, Long> refused,
        long gaps,
        long dropped,
        long unsolicited,
        long timedOut,
        long listened,
        long resumed,
        long superseded,
        long replayed,
        long restored,
        Map<WriteStall, Long> writeStalls,
        Map<TaskEvent, Long> tasks) {

    public EngineStats {
        states = Map.copyOf(states);
        writeStalls = Map.copyOf(writeStalls);
        tasks = Map.copyOf(tasks);
        ended = Map.copyOf(ended);
        refused = Map.copyOf(refused);
    }
}

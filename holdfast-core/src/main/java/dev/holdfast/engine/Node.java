package dev.holdfast.engine;

/**
 * What the sessions of an engine share.
 *
 * @param live those in memory
 * @param parked those that wait in the store
 * @param counts what is under way
 * @param memory what all of them keep
 * @param drain the end of the engine
 * @param admission whether there is a place for one more
 */
record Node(
        LiveSessions live,
        ParkedSessions parked,
        NodeCounts counts,
        NodeMemory memory,
        Drain drain,
        Admission admission) {}

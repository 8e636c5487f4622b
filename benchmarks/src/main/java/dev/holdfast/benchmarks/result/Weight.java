package dev.holdfast.benchmarks.result;

/**
 * What each of many sessions takes.
 *
 * @param server where they are
 * @param what is taken, and by which sessions
 * @param sessions how many were looked at
 * @param each bytes for each of them
 */
public record Weight(String server, String what, int sessions, double each) {}

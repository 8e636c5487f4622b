package dev.holdfast.benchmarks.load;

/**
 * What a server has used so far.
 *
 * @param cpu nanoseconds of processor time
 * @param allocated bytes of Java objects; NaN where there is no JVM
 * @param resident bytes of memory now
 */
public record Usage(long cpu, double allocated, long resident) {}

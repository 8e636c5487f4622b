package dev.holdfast.benchmarks.compare;

import java.nio.file.Path;
import java.time.Duration;

/**
 * How long everything takes.
 *
 * @param rounds interleaved ones
 * @param round the length of each
 * @param mostWarmUp of a server under a load; less where it is steady before
 * @param scratch a folder for logs
 */
record Settings(int rounds, Duration round, Duration mostWarmUp, Path scratch) {}

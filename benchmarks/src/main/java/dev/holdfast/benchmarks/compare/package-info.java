/** Servers beside each other, in interleaved rounds: which, under which load, and what is asked of the result. */
@NullMarked
package dev.holdfast.benchmarks.compare;

import org.jspecify.annotations.NullMarked;

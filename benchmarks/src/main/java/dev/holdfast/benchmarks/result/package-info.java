/** What a comparison gives: figures, their spread over the rounds, and how goals stand. */
@NullMarked
package dev.holdfast.benchmarks.result;

import org.jspecify.annotations.NullMarked;

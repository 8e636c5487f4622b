/** What measures: clients, and what they see. */
@NullMarked
package dev.holdfast.benchmarks.load;

import org.jspecify.annotations.NullMarked;

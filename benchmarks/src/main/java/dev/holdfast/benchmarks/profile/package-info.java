/** Where a server spends its time and what it allocates. */
@NullMarked
package dev.holdfast.benchmarks.profile;

import org.jspecify.annotations.NullMarked;

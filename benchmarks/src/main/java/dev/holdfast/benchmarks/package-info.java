/** What Holdfast costs, measured side by side with the official transport and with a bare servlet. */
@NullMarked
package dev.holdfast.benchmarks;

import org.jspecify.annotations.NullMarked;

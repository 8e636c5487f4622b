/** What a comparison found, for readers: a table, JSON and a chart. */
@NullMarked
package dev.holdfast.benchmarks.report;

import org.jspecify.annotations.NullMarked;

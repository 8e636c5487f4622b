package dev.holdfast.benchmarks.result;

import dev.holdfast.benchmarks.load.Sample;
import java.util.function.ToDoubleFunction;

/** What is looked at in a sample. */
public enum Figure {
    RATE("calls/s", Sample::rate),
    P50("p50 ms", Sample::p50),
    P99("p99 ms", Sample::p99),
    CPU("cpu us/call", Sample::cpu),
    ALLOCATED("KB/call", Sample::allocated),
    RESIDENT("RSS MB", Sample::resident);

    private final String title;
    // always an accessor of a record
    @SuppressWarnings("ImmutableEnumChecker")
    private final ToDoubleFunction<Sample> reading;

    Figure(String title, ToDoubleFunction<Sample> reading) {
        this.title = title;
        this.reading = reading;
    }

    /** With its unit. */
    public String title() {
        return title;
    }

    double of(Sample sample) {
        return reading.applyAsDouble(sample);
    }
}

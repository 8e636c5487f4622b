package dev.holdfast.gateway.http;

/** Tells what is measured, in the text format of Prometheus. May be called by any thread. */
@FunctionalInterface
public interface Metrics {
    /** All of it, as it is now. */
    String scrape();
}

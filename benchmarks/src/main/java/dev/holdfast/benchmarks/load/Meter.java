package dev.holdfast.benchmarks.load;

import java.io.IOException;

/** Tells what a server has used. */
@FunctionalInterface
public interface Meter {
    Usage usage() throws IOException, InterruptedException;
}

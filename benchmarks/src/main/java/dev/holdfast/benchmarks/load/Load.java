package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.time.Duration;

/** Keeps a server busy. */
public interface Load extends AutoCloseable {
    /** One round. */
    Sample run(Duration duration) throws IOException, InterruptedException;

    @Override
    void close() throws IOException;
}

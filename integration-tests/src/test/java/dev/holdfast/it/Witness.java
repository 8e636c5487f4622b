package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;

/** Sees what a server must not do when connections break: complain, chatter, or complete a request twice. */
final class Witness implements AutoCloseable {
    private final LogCapture log = new LogCapture();
    private final CompletionCounter completions = new CompletionCounter();

    CompletionCounter completions() {
        return completions;
    }

    /** No complaint so far, and one line at most for each connection that broke, beside the one at the start. */
    void assertQuiet(int brokenConnections) {
        assertThat(log.notes())
                .filteredOn(line -> !line.text().startsWith("store: "))
                .hasSizeLessThanOrEqualTo(brokenConnections);
        assertNoComplaint();
    }

    /** No complaint so far, and no request completed twice. */
    void assertNoComplaint() {
        assertThat(log.complaints()).isEmpty();
        List<CompletionCounter.Tally> tallies = completions.tallies();
        assertThat(tallies).isNotEmpty().allSatisfy(tally -> {
            assertThat(tally.asked()).hasValueLessThanOrEqualTo(1);
            assertThat(tally.done()).hasValueLessThanOrEqualTo(1);
        });
    }

    @Override
    public void close() {
        log.close();
    }
}

package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;

/** Fills a folder with sessions. Arguments: {@code sessions}, and the server. */
final class FillMain {
    private FillMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        options.targets().get(0).fill(options.number("sessions", 100_000));
    }
}

package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.Target;

/** Fills a folder with sessions that have a short history: some answers and notifications. Arguments: {@code sessions}, and the server. */
final class FillMain {
    private static final int AT_ONCE = 10_000;
    private static final int CALLS = 3;

    private FillMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        String session = target.open();
        for (int i = 0; i < CALLS; i++) {
            target.call(session, "echo", "{\"text\":\"" + "history ".repeat(20) + "\"}");
        }
        target.call(session, "notify", "{\"count\":5,\"tag\":\"" + "history ".repeat(20) + "\"}");
        int count = options.number("sessions", 100_000);
        for (int from = 0; from < count; from += AT_ONCE) {
            target.control("fill?from=" + from + "&count=" + Math.min(AT_ONCE, count - from));
        }
    }
}

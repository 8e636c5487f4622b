package dev.holdfast.gateway.doctor;

import dev.holdfast.gateway.doctor.Visit.Echo;
import java.util.Set;
import java.util.function.IntFunction;

/** How large a part of a request may be: found by sending larger and smaller ones. */
final class SizeLimit {
    /** What says that it was too large; besides, a connection that is closed. */
    private static final Set<Integer> TOO_LARGE = Set.of(0, 400, 413, 414, 431, 494);
    /** Where to stop: the limit lies within a sixteenth. */
    private static final double EXACT = 1.0625;

    private final String check;
    private final String what;
    private final IntFunction<Echo> request;

    /**
     * A search that has not begun.
     *
     * @param what the part, as in "requests with WHAT of 8 KB"
     * @param request sends one with a part of this size
     */
    SizeLimit(String check, String what, IntFunction<Echo> request) {
        this.check = check;
        this.what = what;
        this.request = request;
    }

    /**
     * Searches between two sizes.
     *
     * @param enough what no client needs more of
     * @param advice for less
     */
    Verdict between(int least, int most, int enough, String advice) {
        Echo largest = request.apply(most);
        if (largest.isTaken()) {
            return Verdict.ok(
                            check,
                            "requests with " + what + " of " + Verdict.text(most)
                                    + " pass, and no larger ones were tried")
                    .with("passesBytes", most);
        }
        Echo smallest = request.apply(least);
        if (!smallest.isTaken()) {
            return Verdict.unknown(
                    check,
                    "a request with " + what + " of " + Verdict.text(least) + " is answered "
                            + smallest.response().outcome(),
                    "");
        }
        int passes = least;
        int fails = most;
        Echo refusal = largest;
        while (fails > passes * EXACT && TOO_LARGE.contains(refusal.status())) {
            int middle = (int) Math.sqrt((double) passes * fails);
            Echo echo = request.apply(middle);
            if (echo.isTaken()) {
                passes = middle;
            } else {
                fails = middle;
                refusal = echo;
            }
        }
        if (!TOO_LARGE.contains(refusal.status())) {
            return Verdict.unknown(check, "a request with " + what + " is answered " + refusal.status(), "");
        }
        String found = "requests with " + what + " of " + Verdict.text(passes) + " pass, of " + Verdict.text(fails)
                + " are refused (" + refusal.response().outcome() + by(refusal.response()) + ")";
        Verdict verdict = passes >= enough ? Verdict.ok(check, found) : Verdict.warning(check, found, advice);
        return verdict.with("passesBytes", passes).with("refusedBytes", fails);
    }

    /** Who has said it: an MCP server says it in JSON. */
    private static String by(TimedResponse refusal) {
        return refusal.header("Content-Type").orElse("").startsWith("application/json")
                ? ", by the MCP server"
                : refusal.header("Server").map(name -> ", by " + name).orElse("");
    }
}

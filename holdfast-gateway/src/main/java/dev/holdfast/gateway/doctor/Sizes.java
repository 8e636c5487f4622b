package dev.holdfast.gateway.doctor;

import static dev.holdfast.gateway.doctor.Verdict.ok;
import static dev.holdfast.gateway.doctor.Verdict.text;
import static dev.holdfast.gateway.doctor.Verdict.unknown;
import static dev.holdfast.gateway.doctor.Verdict.warning;

import dev.holdfast.gateway.doctor.Visit.Echo;
import dev.holdfast.gateway.doctor.Visit.Opened;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/**
 * How large parts of a request may be, found by sending larger and smaller ones: in a session of its own, or in another one where that is
 * lost by a refusal. For one thread.
 */
final class Sizes {
    private static final int KILO = 1024;
    private static final int MEGA = KILO * KILO;
    private static final int ENOUGH_HEADERS = 4096;
    private static final int ENOUGH_BODY = 3_900_000;
    /** Where a search for a size stops: the limit lies within a sixteenth. */
    private static final double EXACT = 1.0625;

    /** What says that a request was too large, 0 for a connection that is closed; and what a firewall says. */
    private static final Set<Integer> TOO_LARGE = Set.of(0, 400, 413, 414, 431, 494);

    private static final Set<Integer> FORBIDDEN = Set.of(403, 406);

    private final Way way;
    private Visit visit;

    private Sizes(Way way, Visit visit) {
        this.way = way;
        this.visit = visit;
    }

    /** Sends such requests. */
    static List<Verdict> verdicts(Way way) {
        if (!(Visit.open(way) instanceof Opened opened)) {
            return Stream.of("headers", "body")
                    .map(each -> unknown(each, "no other session could be opened", "see the log of the server"))
                    .toList();
        }
        Sizes sizes = new Sizes(way, opened.visit());
        List<Verdict> verdicts = List.of(
                search(
                        "headers",
                        "a header",
                        size -> sizes.ping(Map.of("X-Padding", "a".repeat(size)), 0),
                        64 * KILO,
                        ENOUGH_HEADERS,
                        "long tokens are refused: raise the limit (nginx: large_client_header_buffers, HAProxy: tune.bufsize)"),
                search(
                        "body",
                        "a body",
                        size -> sizes.ping(Map.of(), size),
                        8 * MEGA,
                        ENOUGH_BODY,
                        "raise the limit (nginx: client_max_body_size 4m, Holdfast: --max-request-size)"));
        sizes.visit.end();
        return verdicts;
    }

    private Echo ping(Map<String, String> headers, int padding) {
        Echo echo = visit.ping(headers, padding);
        if (!echo.isTaken() && !visit.ping().isTaken() && Visit.open(way) instanceof Opened again) {
            visit.end();
            visit = again.visit();
            return visit.ping(headers, padding);
        }
        return echo;
    }

    /**
     * Searches for the largest part of a request that passes.
     *
     * @param what the part, as in "requests with WHAT of 8 KB"
     * @param request sends one with a part of a size
     * @param enough what no client needs more of
     * @param advice for less
     */
    private static Verdict search(
            String check, String what, IntFunction<Echo> request, int most, int enough, String advice) {
        Echo refusal = request.apply(most);
        if (refusal.isTaken()) {
            return ok(check, "requests with " + what + " of " + text(most) + " pass, and no larger ones were tried")
                    .with("passesBytes", most);
        }
        int passes = 0;
        int fails = most;
        int late = refusal.isLate() ? 1 : 0;
        for (int next = KILO;
                late < 2 && (passes == 0 || fails > passes * EXACT);
                next = (int) Math.sqrt((double) passes * fails)) {
            Echo echo = request.apply(next);
            if (echo.isTaken()) {
                passes = next;
            } else if (passes == 0) {
                return unknown(
                        check,
                        "a request with " + what + " of " + text(next) + " is answered: "
                                + echo.response().outcome(),
                        "see in the log of the server, or of what answers for it, why");
            } else {
                fails = next;
                refusal = echo;
                late += echo.isLate() ? 1 : 0;
            }
        }
        TimedResponse answer = refusal.response();
        String found = "requests with " + what + " of " + text(passes) + " pass, of " + text(fails);
        Verdict verdict;
        if (refusal.isLate()) {
            found += " were not answered in time: the link is slow, or something drops them";
            verdict = passes >= enough
                    ? ok(check, found)
                    : unknown(check, found, "run the doctor where the link is faster, or beside the server");
            return verdict.with("passesBytes", passes);
        }
        found += " are refused (" + answer.outcome() + by(answer) + ")";
        if (passes >= enough) {
            verdict = ok(check, found);
        } else if (TOO_LARGE.contains(refusal.status())) {
            verdict = warning(check, found, advice);
        } else if (FORBIDDEN.contains(refusal.status())) {
            verdict = warning(
                    check,
                    found + ": that is a rule of a firewall, and no limit of a server",
                    "exempt the endpoint from the rule, or raise its size (AWS WAF: SizeRestrictions_BODY and"
                            + " SizeRestrictions_Cookie_HEADER)");
        } else {
            verdict = unknown(check, found, "see in the log of what answers so whether size is the reason");
        }
        return verdict.with("passesBytes", passes).with("refusedBytes", fails);
    }

    /** Who has said it: an MCP server says it in JSON. */
    private static String by(TimedResponse refusal) {
        return refusal.header("Content-Type").orElse("").startsWith("application/json")
                ? ", by the MCP server"
                : refusal.header("Server").map(name -> ", by " + name).orElse("");
    }
}

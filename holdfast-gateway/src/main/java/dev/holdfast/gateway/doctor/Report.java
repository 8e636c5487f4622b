package dev.holdfast.gateway.doctor;

import dev.holdfast.gateway.doctor.Verdict.Level;
import dev.holdfast.json.JsonParts;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a {@link Doctor} has found. */
public final class Report {
    private static final int PROBLEMS = 1;
    private static final int NOT_MEASURED = 2;

    private final String url;
    private final List<Verdict> verdicts;

    Report(String url, List<Verdict> verdicts) {
        this.url = url;
        this.verdicts = List.copyOf(verdicts);
    }

    private long count(Level level) {
        return verdicts.stream().filter(each -> each.level() == level).count();
    }

    /** What the process says by its exit: 1 for a problem, else 2 where something could not be measured, else 0. */
    public int exitCode() {
        if (count(Level.PROBLEM) > 0) {
            return PROBLEMS;
        }
        return count(Level.UNKNOWN) > 0 ? NOT_MEASURED : 0;
    }

    /** For people: a line for each finding, and below it what to do. */
    public Stream<String> lines() {
        Stream<String> found = verdicts.stream()
                .flatMap(each -> Stream.of(
                                String.format(Locale.ROOT, "%-8s %-16s %s", each.level(), each.check(), each.found()),
                                each.advice().isEmpty() ? "" : " ".repeat(26) + "-> " + each.advice())
                        .filter(line -> !line.isEmpty()));
        return Stream.concat(
                found,
                Stream.of("problems: " + count(Level.PROBLEM) + ", warnings: " + count(Level.WARNING)
                        + ", not measured: " + count(Level.UNKNOWN) + ", ok: " + count(Level.OK)));
    }

    /** For machines, on one line. */
    public String json() {
        return "{\"url\":" + JsonParts.quoted(url) + ",\"exit\":" + exitCode() + ",\"problems\":"
                + count(Level.PROBLEM) + ",\"warnings\":" + count(Level.WARNING) + ",\"unknown\":"
                + count(Level.UNKNOWN) + ",\"findings\":"
                + verdicts.stream().map(Verdict::json).collect(Collectors.joining(",", "[", "]")) + "}";
    }
}

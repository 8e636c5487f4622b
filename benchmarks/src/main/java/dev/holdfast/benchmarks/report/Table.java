package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.Figure;
import dev.holdfast.benchmarks.result.Goal;
import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.result.Spread;
import java.util.List;
import java.util.Locale;

/** Outcomes as text: medians with the least and the most of all rounds. */
public final class Table {
    /** A generator that is busier than this may be what was measured. */
    private static final double BUSY = 0.9;

    private Table() {}

    /** One outcome, for a terminal and for Markdown alike. */
    public static String of(ScenarioResult outcome) {
        StringBuilder text = new StringBuilder("### " + outcome.scenario() + ": " + outcome.load() + "\n\n| |");
        for (Figure figure : Figure.values()) {
            text.append(' ').append(figure.title()).append(" |");
        }
        text.append(" generator busy | warm-up |\n|---|")
                .append("---:|".repeat(Figure.values().length + 2))
                .append('\n');
        outcome.contestants().forEach(contestant -> text.append(row(contestant)));
        if (!outcome.verdicts().isEmpty()) {
            text.append('\n');
            outcome.verdicts().forEach(verdict -> text.append(line(verdict)));
        }
        return text.toString();
    }

    /** All of them. */
    public static String markdown(List<ScenarioResult> outcomes) {
        return String.join("\n", outcomes.stream().map(Table::of).toList());
    }

    private static String row(Contestant contestant) {
        StringBuilder row = new StringBuilder("| " + contestant.name() + " |");
        for (Figure figure : Figure.values()) {
            row.append(' ').append(cell(contestant.spread(figure))).append(" |");
        }
        double busiest = contestant.busiest();
        String busy = String.format(Locale.ROOT, "%.0f %%%s", 100 * busiest, busiest > BUSY ? " (the limit)" : "");
        String errors = contestant.errors() == 0 ? "" : ", " + contestant.errors() + " ERRORS";
        return row + " " + busy + " | " + contestant.warmUp() + errors + " |\n";
    }

    static String cell(Spread spread) {
        return spread.known()
                ? number(spread.median()) + " (" + number(spread.least()) + "-" + number(spread.most()) + ")"
                : "";
    }

    static String number(double value) {
        return String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    }

    private static String line(ScenarioResult.Verdict verdict) {
        return String.format(
                Locale.ROOT,
                "- %s: %s %s %s = %.2f (%.2f-%.2f), goal %s %.2f%n",
                verdict.reached() ? "reached" : "MISSED",
                verdict.goal().figure().title(),
                verdict.goal().relation().word(),
                verdict.goal().other(),
                verdict.measured().median(),
                verdict.measured().least(),
                verdict.measured().most(),
                verdict.goal().sense() == Goal.Sense.AT_LEAST ? ">=" : "<=",
                verdict.goal().bound());
    }
}

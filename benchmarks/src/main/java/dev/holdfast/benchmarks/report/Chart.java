package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.Figure;
import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.result.Spread;
import java.util.List;
import java.util.Locale;

/** Rates as horizontal bars, one group for each outcome, each as a share of its group's fastest; a line shows the spread. */
public final class Chart {
    private static final int WIDTH = 900;
    private static final int LEFT = 190;
    private static final int BAR = 18;
    private static final int GAP = 6;
    private static final int GROUP_GAP = 34;
    private static final int LONGEST = 520;
    private static final String OURS = "#1f6feb";
    private static final String THEIRS = "#8c959f";

    private final StringBuilder shapes = new StringBuilder();
    private int y;

    private Chart() {}

    /** The chart as SVG. */
    public static String of(List<ScenarioResult> outcomes) {
        Chart chart = new Chart();
        outcomes.forEach(chart::group);
        return String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">%n"
                        + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n%s</svg>%n",
                WIDTH,
                chart.y + GROUP_GAP,
                chart.shapes);
    }

    private void group(ScenarioResult outcome) {
        y += GROUP_GAP;
        add(
                "<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s: %s, calls/s</text>",
                y, outcome.scenario(), outcome.load());
        y += GAP;
        double most = outcome.contestants().stream()
                .mapToDouble(contestant -> contestant.spread(Figure.RATE).most())
                .max()
                .orElse(1);
        boolean first = true;
        for (Contestant contestant : outcome.contestants()) {
            bar(contestant, LONGEST / most, first ? OURS : THEIRS);
            first = false;
        }
    }

    private void bar(Contestant contestant, double scale, String color) {
        Spread rate = contestant.spread(Figure.RATE);
        int middle = y + BAR / 2;
        add("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", LEFT - 8, middle + 5, contestant.name());
        add(
                "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
                LEFT, y, rate.median() * scale, BAR, color);
        add(
                "<path d=\"M%.1f %d H%.1f\" stroke=\"#24292f\" stroke-width=\"2\"/>",
                LEFT + rate.least() * scale, middle, LEFT + rate.most() * scale);
        add("<text x=\"%.1f\" y=\"%d\">%.0f</text>", LEFT + rate.most() * scale + 8, middle + 5, rate.median());
        y += BAR + GAP;
    }

    private void add(String format, Object... values) {
        shapes.append(String.format(Locale.ROOT, format, values)).append('\n');
    }
}

package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.result.Figure;
import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.result.Spread;
import java.util.List;
import java.util.Locale;

/** Figures as horizontal bars, one group for each outcome, each as a share of its group's largest; a line shows the spread. */
public final class Chart {
    private static final int WIDTH = 900;
    private static final int LEFT = 230;
    private static final int BAR = 18;
    private static final int GAP = 6;
    private static final int GROUP_GAP = 34;
    private static final int LONGEST = 500;
    private static final String OURS = "#1f6feb";
    private static final String THEIRS = "#8c959f";

    private final StringBuilder shapes = new StringBuilder();
    private int y;

    private Chart() {}

    /** The chart as SVG. */
    public static String of(List<ScenarioResult> outcomes, Figure figure) {
        Chart chart = new Chart();
        outcomes.forEach(outcome -> chart.group(
                outcome.scenario() + ": " + outcome.load() + ", " + figure.title(),
                outcome.contestants().stream()
                        .map(contestant -> new Bar(contestant.name(), contestant.spread(figure)))
                        .toList()));
        return chart.svg();
    }

    /** A bar for each of some figures. */
    static String of(String title, List<Bar> bars) {
        Chart chart = new Chart();
        chart.group(title, bars);
        return chart.svg();
    }

    /** A figure with its name. */
    record Bar(String name, Spread figure) {}

    private String svg() {
        return String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">%n"
                        + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n%s</svg>%n",
                WIDTH,
                y + GROUP_GAP,
                shapes);
    }

    private void group(String title, List<Bar> bars) {
        y += GROUP_GAP;
        add("<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s</text>", y, title);
        y += GAP;
        double most =
                bars.stream().mapToDouble(bar -> bar.figure().most()).max().orElse(1);
        boolean first = true;
        for (Bar bar : bars) {
            add(bar, LONGEST / most, first ? OURS : THEIRS);
            first = false;
        }
    }

    private void add(Bar bar, double scale, String color) {
        Spread figure = bar.figure();
        int middle = y + BAR / 2;
        add("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", LEFT - 8, middle + 5, bar.name());
        add(
                "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
                LEFT, y, figure.median() * scale, BAR, color);
        if (figure.most() > figure.least()) {
            add(
                    "<path d=\"M%.1f %d H%.1f\" stroke=\"#24292f\" stroke-width=\"2\"/>",
                    LEFT + figure.least() * scale, middle, LEFT + figure.most() * scale);
        }
        add(
                "<text x=\"%.1f\" y=\"%d\">%s</text>",
                LEFT + figure.most() * scale + 8, middle + 5, Table.number(figure.median()));
        y += BAR + GAP;
    }

    private void add(String format, Object... values) {
        shapes.append(String.format(Locale.ROOT, format, values)).append('\n');
    }
}

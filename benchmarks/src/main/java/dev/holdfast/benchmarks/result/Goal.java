package dev.holdfast.benchmarks.result;

/**
 * What is asked of a ratio.
 *
 * @param figure of what
 * @param over the contestant that the first one's figure is divided by
 * @param sense whether more is better
 * @param bound what the ratio's median has to reach
 */
public record Goal(Figure figure, String over, Sense sense, double bound) {
    /** Which way is better. */
    public enum Sense {
        AT_LEAST,
        AT_MOST
    }

    public static Goal atLeast(double bound, Figure figure, String over) {
        return new Goal(figure, over, Sense.AT_LEAST, bound);
    }

    public static Goal atMost(double bound, Figure figure, String over) {
        return new Goal(figure, over, Sense.AT_MOST, bound);
    }

    public boolean reachedBy(double ratio) {
        return switch (sense) {
            case AT_LEAST -> ratio >= bound;
            case AT_MOST -> ratio <= bound;
        };
    }
}

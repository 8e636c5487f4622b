package dev.holdfast.benchmarks.result;

/**
 * What is asked of the first contestant's figure beside that of another.
 *
 * @param figure of what
 * @param relation what is made of the two figures
 * @param other the contestant that the first one is held beside
 * @param sense whether more is better
 * @param bound what the median over the rounds has to reach
 */
public record Goal(Figure figure, Relation relation, String other, Sense sense, double bound) {
    /** Which way is better. */
    public enum Sense {
        AT_LEAST,
        AT_MOST
    }

    /** What is made of two figures of one round. */
    public enum Relation {
        /** The first one divided by the other. */
        OVER("/") {
            @Override
            double of(double first, double other) {
                return first / other;
            }
        },
        /** By how much the first one is larger. */
        BEYOND("beyond") {
            @Override
            double of(double first, double other) {
                return first - other;
            }
        };

        private final String word;

        Relation(String word) {
            this.word = word;
        }

        /** What stands between the two. */
        public String word() {
            return word;
        }

        abstract double of(double first, double other);
    }

    public static Goal atLeast(double bound, Figure figure, String over) {
        return new Goal(figure, Relation.OVER, over, Sense.AT_LEAST, bound);
    }

    public static Goal atMost(double bound, Figure figure, String over) {
        return new Goal(figure, Relation.OVER, over, Sense.AT_MOST, bound);
    }

    /** The same for what comes on top of the other's figure, in its unit. */
    public static Goal atMostBeyond(double bound, Figure figure, String other) {
        return new Goal(figure, Relation.BEYOND, other, Sense.AT_MOST, bound);
    }

    public boolean reachedBy(double measured) {
        return switch (sense) {
            case AT_LEAST -> measured >= bound;
            case AT_MOST -> measured <= bound;
        };
    }
}

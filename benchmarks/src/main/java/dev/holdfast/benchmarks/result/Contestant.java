package dev.holdfast.benchmarks.result;

import dev.holdfast.benchmarks.load.Sample;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What a server gave.
 *
 * @param name of the peer
 * @param warmUp how it was made warm: "30 s", or "60 s, not steady"
 * @param samples one for each round
 */
public record Contestant(String name, String warmUp, List<Sample> samples) {

    public Spread spread(Figure figure) {
        return Spread.of(samples.stream().mapToDouble(figure::of).toArray());
    }

    /** This one's figure beside another's, round by round, as a goal wants it. */
    public Spread beside(Contestant other, Goal goal) {
        return Spread.of(IntStream.range(0, samples.size())
                .mapToDouble(i -> goal.relation()
                        .of(goal.figure().of(samples.get(i)), goal.figure().of(other.samples.get(i))))
                .toArray());
    }

    public int errors() {
        return samples.stream().mapToInt(Sample::errors).sum();
    }

    /** The largest share of a round for which the load generator had work. */
    public double busiest() {
        return samples.stream().mapToDouble(Sample::busy).max().orElse(0);
    }

    /** What this one and another would give together, one after the other for each answer. */
    public Contestant plus(Contestant other, String together) {
        return new Contestant(
                together,
                "",
                IntStream.range(0, samples.size())
                        .mapToObj(i -> samples.get(i).plus(other.samples.get(i)))
                        .toList());
    }
}

package dev.holdfast.gateway;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What a gateway has told Prometheus at one moment. */
record Scrape(String text) {
    private static final Pattern SAMPLE = Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{.*})? (\\S+)");

    static Scrape of(TestGateway gateway) {
        return new Scrape(new HttpPeer(gateway.url()).get("/metrics").body());
    }

    /** The sum of the samples of a name whose labels contain all of these. */
    double value(String name, String... labels) {
        List<Matcher> found = samples()
                .filter(sample -> sample.group(1).equals(name))
                .filter(sample -> Arrays.stream(labels).allMatch(String.valueOf(sample.group(2))::contains))
                .toList();
        if (found.isEmpty()) {
            throw new AssertionError("no sample " + name + " " + Arrays.toString(labels) + " in\n" + text);
        }
        return found.stream()
                .mapToDouble(sample -> Double.parseDouble(sample.group(3)))
                .sum();
    }

    /** The names of all samples. */
    Set<String> names() {
        return samples().map(sample -> sample.group(1)).collect(Collectors.toSet());
    }

    private java.util.stream.Stream<Matcher> samples() {
        return text.lines()
                .filter(line -> !line.startsWith("#") && !line.isBlank())
                .map(SAMPLE::matcher)
                .filter(Matcher::matches);
    }
}

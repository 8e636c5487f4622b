package dev.holdfast.benchmarks.profile;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Sums by name, and their shares of the whole. */
final class Tally {
    private final Map<String, Long> sums = new HashMap<>();
    private long whole;

    void add(String name, long amount) {
        addAll(List.of(name), amount);
    }

    /** Adds one amount under several names; it counts once in the whole. */
    void addAll(List<String> names, long amount) {
        whole += amount;
        names.forEach(name -> sums.merge(name, amount, Long::sum));
    }

    void print(String title, int rows) {
        System.out.println("-- " + title + ", of " + whole);
        sums.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .limit(rows)
                .forEach(entry -> System.out.printf(
                        Locale.ROOT, "%5.1f %%  %s%n", 100.0 * entry.getValue() / whole, entry.getKey()));
    }
}

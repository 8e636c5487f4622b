package dev.holdfast.benchmarks.load;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The arguments of a benchmark: numbers as {@code name=value}, servers as {@code kind:port}, and names.
 *
 * @param numbers what was given by name
 * @param targets the servers, in order
 * @param names whatever else was given, in order
 */
public record Args(Map<String, Integer> numbers, List<Target> targets, List<String> names) {

    public static Args parse(String[] args) {
        Map<String, Integer> numbers = new LinkedHashMap<>();
        List<Target> targets = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (String arg : args) {
            int equals = arg.indexOf('=');
            int colon = arg.indexOf(':');
            if (equals > 0) {
                numbers.put(arg.substring(0, equals), Integer.parseInt(arg.substring(equals + 1)));
            } else if (colon > 0) {
                targets.add(new Target(arg.substring(0, colon), Integer.parseInt(arg.substring(colon + 1))));
            } else {
                names.add(arg);
            }
        }
        return new Args(numbers, targets, names);
    }

    public int number(String name, int otherwise) {
        return Optional.ofNullable(numbers.get(name)).orElse(otherwise);
    }

    public Target target(String kind) {
        return targets.stream()
                .filter(target -> target.name().equals(kind))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no server " + kind));
    }
}

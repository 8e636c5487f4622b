package dev.holdfast.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The arguments of a benchmark: numbers as {@code name=value}, and servers as {@code kind:port}.
 *
 * @param numbers what was given by name
 * @param targets the servers, in order
 */
record Args(Map<String, Integer> numbers, List<Target> targets) {

    static Args parse(String[] args) {
        Map<String, Integer> numbers = new LinkedHashMap<>();
        List<Target> targets = new ArrayList<>();
        for (String arg : args) {
            int equals = arg.indexOf('=');
            int colon = arg.indexOf(':');
            if (equals > 0) {
                numbers.put(arg.substring(0, equals), Integer.parseInt(arg.substring(equals + 1)));
            } else if (colon > 0) {
                targets.add(new Target(arg.substring(0, colon), Integer.parseInt(arg.substring(colon + 1))));
            } else {
                throw new IllegalArgumentException("neither name=number nor kind:port: " + arg);
            }
        }
        return new Args(numbers, targets);
    }

    int number(String name, int otherwise) {
        return Optional.ofNullable(numbers.get(name)).orElse(otherwise);
    }

    Target target(String kind) {
        return targets.stream()
                .filter(target -> target.name().equals(kind))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no server " + kind));
    }
}

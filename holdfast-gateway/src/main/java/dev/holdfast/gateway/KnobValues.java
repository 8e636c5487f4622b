package dev.holdfast.gateway;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The values that a command line gives to the knobs of a table, each of them checked. Immutable. */
final class KnobValues {
    private final Map<Knob<?>, Object> given = new LinkedHashMap<>();
    private final List<String> others = new ArrayList<>();

    private KnobValues() {}

    /**
     * Reads {@code --name value} and {@code --name=value}.
     *
     * @throws IllegalArgumentException says what is wrong with the first word or value that is not right
     */
    static KnobValues of(List<Knob<?>> table, List<String> words) {
        KnobValues settings = new KnobValues();
        Map<Knob<?>, List<String>> texts = new LinkedHashMap<>();
        for (Iterator<String> rest = words.iterator(); rest.hasNext(); ) {
            String word = rest.next();
            String[] parts = word.split("=", 2);
            Optional<Knob<?>> knob = find(table, parts[0]);
            if (knob.isPresent()) {
                String text = parts.length > 1 ? parts[1] : value(knob.get(), table, rest);
                texts.computeIfAbsent(knob.get(), first -> new ArrayList<>()).add(text);
            } else if (word.startsWith("-")) {
                throw new IllegalArgumentException("unknown option " + parts[0]);
            } else {
                settings.others.add(word);
            }
        }
        for (Knob<?> knob : table) {
            List<String> values = texts.get(knob);
            if (values != null) {
                settings.given.put(knob, knob.reader().apply(values));
            }
        }
        return settings;
    }

    /**
     * The same with other values for some knobs.
     *
     * @param values of the knobs' types
     */
    KnobValues with(Map<Knob<?>, Object> values) {
        KnobValues changed = new KnobValues();
        changed.given.putAll(given);
        changed.given.putAll(values);
        return changed;
    }

    /** The same, where these are not given. */
    KnobValues without(Set<Knob<?>> knobs) {
        KnobValues changed = with(Map.of());
        changed.given.keySet().removeAll(knobs);
        return changed;
    }

    private static Optional<Knob<?>> find(List<Knob<?>> table, String name) {
        return table.stream().filter(knob -> knob.name().equals(name)).findFirst();
    }

    private static String value(Knob<?> knob, List<Knob<?>> table, Iterator<String> rest) {
        if (knob.label().isEmpty()) {
            return "true";
        }
        if (rest.hasNext()) {
            String text = rest.next();
            if (find(table, text.split("=", 2)[0]).isEmpty()) {
                return text;
            }
        }
        throw new IllegalArgumentException(knob.name() + " needs a value: " + knob.name() + " " + knob.label());
    }

    /** What was given for a knob, or else its default; empty if it has none. */
    <T> Optional<T> find(Knob<T> knob) {
        // what a knob has read is of its type
        @SuppressWarnings("unchecked")
        T value = (T) given.get(knob);
        return value == null ? knob.preset() : Optional.of(value);
    }

    /** What was given for a knob, or else its default. */
    <T> T get(Knob<T> knob) {
        return find(knob).orElseThrow();
    }

    /** Whether the command line sets it; a switch that it turns off is not, nor is a list of nothing. */
    boolean isGiven(Knob<?> knob) {
        return given.containsKey(knob) && !Set.of(false, List.of()).contains(given.get(knob));
    }

    /**
     * Refuses knobs that would do nothing beside the others.
     *
     * @param why follows the name of the one that is given
     * @throws IllegalArgumentException if one is
     */
    void refuse(String why, Knob<?>... knobs) {
        Stream.of(knobs).filter(this::isGiven).findFirst().ifPresent(knob -> {
            throw new IllegalArgumentException(knob.name() + why);
        });
    }

    /** The words that belong to no knob. */
    List<String> others() {
        return others;
    }
}

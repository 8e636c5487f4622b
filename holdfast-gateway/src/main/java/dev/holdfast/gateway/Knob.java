package dev.holdfast.gateway;

import dev.holdfast.gateway.text.Durations;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One setting of the command line. Parsing, checks and help come from it.
 *
 * @param <T> the type of its values
 * @param name the option
 * @param label what stands for its value in help; empty where it has none
 * @param defaults the words that it is unless it is given; empty if it is nothing then, or is found out later
 * @param range which values are allowed, in words; empty for any
 * @param sentence what it does
 * @param reader turns the words that were given for it into its value, or throws an IllegalArgumentException whose message begins with
 *     the name
 */
record Knob<T>(
        String name,
        String label,
        Optional<List<String>> defaults,
        String range,
        String sentence,
        Function<List<String>, T> reader) {
    private static final Optional<List<String>> NONE = Optional.of(List.of());
    private static final Pattern SIZE = Pattern.compile("(\\d{1,10})([kmg]?)");

    private static <T> Knob<T> one(
            String name, String label, String preset, String sentence, Function<String, T> reader) {
        Optional<List<String>> defaults = preset.isEmpty() ? Optional.empty() : Optional.of(List.of(preset));
        return new Knob<>(name, label, defaults, "", sentence, texts -> {
            if (texts.size() != 1) {
                throw new IllegalArgumentException(
                        name + (texts.isEmpty() ? " has no value" : " is given more than once"));
            }
            return reader.apply(texts.get(0));
        });
    }

    private static <C extends Comparable<C>> Predicate<C> within(
            String least, String most, Function<String, C> reader) {
        C from = reader.apply(least);
        C to = reader.apply(most);
        return value -> from.compareTo(value) <= 0 && to.compareTo(value) >= 0;
    }

    /** A time from {@code least} to {@code most}, by default that of the library. */
    static Knob<Duration> time(String name, Duration preset, String least, String most, String sentence) {
        return time(name, Durations.text(preset), least, most, sentence);
    }

    /** A time from {@code least} to {@code most}. */
    static Knob<Duration> time(String name, String preset, String least, String most, String sentence) {
        return one(name, "TIME", preset, sentence, text -> time(name, text))
                .where(within(least, most, text -> time(name, text)), least + " to " + most);
    }

    /** Zero, or a time from {@code least} to {@code most}. */
    static Knob<Duration> timeOrZero(String name, Duration preset, String least, String most, String sentence) {
        return one(name, "TIME", Durations.text(preset), sentence, text -> time(name, text))
                .where(
                        within(least, most, text -> time(name, text)).or(Duration::isZero),
                        "0, or " + least + " to " + most);
    }

    private static Duration time(String name, String text) {
        return Durations.parse(text)
                .orElseThrow(() -> new IllegalArgumentException(
                        name + ": '" + text + "' is no time; write it as 500ms, 15s, 30m, 2h or 0"));
    }

    /** A whole number from {@code least} to {@code most}, by default that of the library. */
    static Knob<Integer> number(String name, String label, int preset, String least, String most, String sentence) {
        return number(name, label, Integer.toString(preset), least, most, sentence);
    }

    /** A whole number from {@code least} to {@code most}. */
    static Knob<Integer> number(String name, String label, String preset, String least, String most, String sentence) {
        Function<String, Integer> reader = text -> {
            try {
                return Integer.valueOf(text);
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(name + ": '" + text + "' is no whole number", e);
            }
        };
        return one(name, label, preset, sentence, reader).where(within(least, most, reader), least + " to " + most);
    }

    /** A number of bytes from {@code least} to {@code most}. */
    static Knob<Long> size(String name, String preset, String least, String most, String sentence) {
        Function<String, Long> reader = text -> {
            Matcher matcher = SIZE.matcher(text.toLowerCase(Locale.ROOT));
            if (!matcher.matches()) {
                throw new IllegalArgumentException(
                        name + ": '" + text + "' is no size; write it as 4096, 512k, 4m or 1g");
            }
            int kilos = List.of("", "k", "m", "g").indexOf(matcher.group(2));
            return Long.parseLong(matcher.group(1)) << (10 * kilos);
        };
        return one(name, "SIZE", preset, sentence, reader).where(within(least, most, reader), least + " to " + most);
    }

    static Knob<String> text(String name, String label, String preset, String sentence) {
        return one(name, label, preset, sentence, text -> text);
    }

    static Knob<Path> file(String name, String sentence) {
        return one(name, "FILE", "", sentence, text -> {
            try {
                return Path.of(text);
            } catch (InvalidPathException e) {
                throw new IllegalArgumentException(name + " names no file: " + e.getMessage(), e);
            }
        });
    }

    /** One of some words, in upper or lower case. */
    static Knob<String> word(String name, String label, String preset, String sentence, String... words) {
        List<String> all = List.of(words);
        return one(name, label, preset, sentence, text -> text.toLowerCase(Locale.ROOT))
                .where(all::contains, "one of " + String.join(", ", all));
    }

    /** Something that is on or off, and off unless it is given. */
    static Knob<Boolean> toggle(String name, String sentence) {
        return one(name, "", "false", sentence, text -> {
            if (!List.of("true", "false").contains(text)) {
                throw new IllegalArgumentException(name + " stands alone, or with =true or =false, not =" + text);
            }
            return Boolean.valueOf(text);
        });
    }

    /** Several texts; it may be given more than once. */
    static Knob<List<String>> texts(String name, String label, String sentence) {
        return new Knob<>(name, label, NONE, "", sentence, List::copyOf);
    }

    /** Several names, by commas too; it may be given more than once. */
    static Knob<List<String>> names(String name, String label, String sentence) {
        return new Knob<>(
                name,
                label,
                NONE,
                "",
                sentence,
                texts -> texts.stream()
                        .flatMap(Pattern.compile(",")::splitAsStream)
                        .toList());
    }

    /** Allows some values only, which {@code range} describes. */
    Knob<T> where(Predicate<T> allowed, String range) {
        return new Knob<>(name, label, defaults, range, sentence, texts -> {
            T value = reader.apply(texts);
            if (!allowed.test(value)) {
                String given = String.join(",", texts);
                throw new IllegalArgumentException(
                        name + " must be " + range + ", not " + (given.isEmpty() ? "empty" : given));
            }
            return value;
        });
    }

    /** Allows what a method of the library takes, whose refusal is told under this name. */
    Knob<T> takenBy(Consumer<T> method) {
        return new Knob<>(name, label, defaults, range, sentence, texts -> {
            T value = reader.apply(texts);
            try {
                method.accept(value);
            } catch (IllegalArgumentException e) {
                String refusal = String.valueOf(e.getMessage());
                throw new IllegalArgumentException(
                        name + refusal.substring(refusal.indexOf(' ')).replace(", got ", ", not "), e);
            }
            return value;
        });
    }

    /** What it is unless it is given; empty if that is nothing, or is found out later. */
    Optional<T> preset() {
        return defaults.map(reader);
    }

    /** What it does, with range and default. */
    String help() {
        String shown = defaults.filter(texts -> !label.isEmpty() && !texts.isEmpty())
                .map(texts -> "default: " + texts.get(0))
                .orElse("");
        String more = Stream.of(range, shown).filter(part -> !part.isEmpty()).collect(Collectors.joining("; "));
        return more.isEmpty() ? sentence : sentence + " (" + more + ")";
    }
}

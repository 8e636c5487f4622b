package dev.holdfast.spring.properties;

import java.lang.reflect.RecordComponent;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** Properties {@code holdfast.*} that have no effect, for none has their name. */
public final class UnknownProperties {
    private static final ConfigurationPropertyName OURS = ConfigurationPropertyName.of("holdfast");
    /** What the starter for clients reads. */
    private static final ConfigurationPropertyName OF_CLIENTS = OURS.append("client");
    /** A variable of the environment with more slips than this may be somebody else's. */
    private static final int SLIPS = 3;

    private UnknownProperties() {}

    /** The names of those that are set, each with the nearest one that there is. */
    public static SortedMap<String, String> in(ConfigurableEnvironment environment) {
        Map<String, String> known = new TreeMap<>();
        collect(OURS.toString(), HoldfastProperties.class, known);
        SortedMap<String, String> unknown = new TreeMap<>();
        for (ConfigurationPropertySource source : ConfigurationPropertySources.from(environment.getPropertySources())) {
            boolean variables = source.getUnderlyingSource() instanceof SystemEnvironmentPropertySource;
            names(source)
                    .filter(name -> OURS.isAncestorOf(name) && !OF_CLIENTS.isAncestorOf(name))
                    .map(name -> name.toString().replaceFirst("\\[.*", ""))
                    .filter(name -> !known.containsKey(letters(name)))
                    .forEach(name -> {
                        String nearest = nearest(letters(name), known.keySet().stream());
                        if (!variables || slips(letters(name), nearest) <= SLIPS) {
                            unknown.put(name, String.valueOf(known.get(nearest)));
                        }
                    });
        }
        return unknown;
    }

    private static Stream<ConfigurationPropertyName> names(ConfigurationPropertySource source) {
        return source instanceof IterableConfigurationPropertySource iterable ? iterable.stream() : Stream.empty();
    }

    private static void collect(String prefix, Class<?> properties, Map<String, String> known) {
        for (RecordComponent component : properties.getRecordComponents()) {
            String dashed = component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
            String name = prefix + "." + dashed;
            if (component.getType().isRecord()) {
                collect(name, component.getType(), known);
            } else {
                known.put(letters(name), name);
            }
        }
    }

    /** A name in whatever form: variables of the environment have neither dots nor dashes. */
    private static String letters(String name) {
        return name.replaceAll("[-.]", "");
    }

    private static String nearest(String name, Stream<String> known) {
        return known.min(Comparator.comparingInt(each -> slips(name, each))).orElseThrow();
    }

    /** How many letters have to be put in, left out or changed (Levenshtein). */
    private static int slips(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int j = 0; j <= to.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int changed = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(changed, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}

package dev.holdfast.spring.properties;

import dev.holdfast.spring.client.HoldfastClientProperties;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.util.ClassUtils;

/** Finds the properties {@code holdfast.*} that are set but do not exist. */
public final class UnknownProperties {
    /** The bean that tells of them: one, also where an application is a server and a client. */
    public static final String BEAN = "holdfastUnknownProperties";

    private static final Logger log = LoggerFactory.getLogger(UnknownProperties.class);
    private static final ConfigurationPropertyName OURS = ConfigurationPropertyName.of("holdfast");
    /** What the starter for clients reads, and the class that is there with it. */
    private static final ConfigurationPropertyName OF_CLIENTS = OURS.append("client");

    private static final String CLIENT = "dev.holdfast.mcp.client.HoldfastClientTransport";
    /** A name that differs in more letters is no misspelling; as a variable of the environment it may belong to another program. */
    private static final int SLIPS = 3;

    private UnknownProperties() {}

    /** Warns of them before other beans are made: where they are missing, the start may fail. */
    public static BeanFactoryPostProcessor warning(ConfigurableEnvironment environment) {
        return beans -> in(environment, ClassUtils.isPresent(CLIENT, beans.getBeanClassLoader()))
                .forEach((name, meant) -> log.warn(
                        "{} is no property of Holdfast and has no effect{}",
                        name,
                        meant.isEmpty() ? "" : ": do you mean " + String.join(" or ", meant) + "?"));
    }

    /** The names of those that are set, each with the names that may be meant. */
    private static SortedMap<String, List<String>> in(ConfigurableEnvironment environment, boolean client) {
        List<ConfigurationPropertyName> known = new ArrayList<>();
        collect(OURS, HoldfastProperties.class, known);
        if (client) {
            collect(OF_CLIENTS, HoldfastClientProperties.class, known);
        }
        SortedMap<String, List<String>> unknown = new TreeMap<>();
        for (ConfigurationPropertySource source : ConfigurationPropertySources.from(environment.getPropertySources())) {
            boolean variables = source.getUnderlyingSource() instanceof SystemEnvironmentPropertySource;
            names(source)
                    .filter(name -> OURS.isAncestorOf(name) && (client || !OF_CLIENTS.isAncestorOf(name)))
                    .map(UnknownProperties::withoutIndex)
                    .filter(name -> known.stream().noneMatch(each -> isSame(name, each, variables)))
                    .forEach(name -> {
                        List<String> meant = meant(name, known);
                        if (!variables || !meant.isEmpty()) {
                            unknown.put(name.toString(), meant.isEmpty() ? besides(name, known) : meant);
                        }
                    });
        }
        return unknown;
    }

    private static Stream<ConfigurationPropertyName> names(ConfigurationPropertySource source) {
        return source instanceof IterableConfigurationPropertySource iterable ? iterable.stream() : Stream.empty();
    }

    private static ConfigurationPropertyName withoutIndex(ConfigurationPropertyName name) {
        return name.isLastElementIndexed() ? withoutIndex(name.getParent()) : name;
    }

    private static void collect(
            ConfigurationPropertyName prefix, Class<?> properties, List<ConfigurationPropertyName> known) {
        for (RecordComponent component : properties.getRecordComponents()) {
            ConfigurationPropertyName name = prefix.append(
                    component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT));
            if (component.getType().isRecord()) {
                collect(name, component.getType(), known);
            } else {
                known.add(name);
            }
        }
    }

    /** A variable of the environment may have an underscore for a dash, which Spring Boot reads as a dot. */
    private static boolean isSame(ConfigurationPropertyName name, ConfigurationPropertyName known, boolean variable) {
        return name.equals(known) || (variable && letters(name).equals(letters(known)));
    }

    private static String letters(ConfigurationPropertyName name) {
        return name.toString().replaceAll("[-.]", "");
    }

    /** The nearest name; otherwise those that end in the same word. */
    private static List<String> meant(ConfigurationPropertyName name, List<ConfigurationPropertyName> known) {
        ConfigurationPropertyName nearest =
                Collections.min(known, Comparator.comparingInt(each -> slips(letters(name), letters(each))));
        if (slips(letters(name), letters(nearest)) <= SLIPS) {
            return List.of(nearest.toString());
        }
        return those(known, each -> lastOf(each).equals(lastOf(name)));
    }

    /** The names beside one. */
    private static List<String> besides(ConfigurationPropertyName name, List<ConfigurationPropertyName> known) {
        return those(known, each -> name.getParent().isParentOf(each));
    }

    private static List<String> those(
            List<ConfigurationPropertyName> known, Predicate<ConfigurationPropertyName> condition) {
        return known.stream()
                .filter(condition)
                .map(ConfigurationPropertyName::toString)
                .sorted()
                .toList();
    }

    private static String lastOf(ConfigurationPropertyName name) {
        return name.getLastElement(ConfigurationPropertyName.Form.UNIFORM);
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

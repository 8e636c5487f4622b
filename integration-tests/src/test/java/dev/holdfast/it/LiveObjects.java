package dev.holdfast.it;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;

/** How many objects of Holdfast's classes live in this JVM: what a container keeps for its next connections is not among them. */
record LiveObjects(Map<String, Integer> byClass) {
    private static final Pattern LINE = Pattern.compile("\\s*\\d+:\\s+(\\d+)\\s+\\d+\\s+(dev\\.holdfast\\.\\S+).*");
    private static final String TESTS = LiveObjects.class.getPackageName() + ".";

    /** Those of this moment, after a garbage collection. */
    static LiveObjects now() throws JMException {
        Object histogram = ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "gcClassHistogram",
                        new Object[] {new String[0]},
                        new String[] {String[].class.getName()});
        return new LiveObjects(((String) histogram)
                .lines()
                .map(LINE::matcher)
                .filter(line -> line.matches() && !line.group(2).startsWith(TESTS))
                // classes of lambdas differ in a number at the end
                .collect(Collectors.toMap(
                        line -> line.group(2).replaceFirst("\\$\\$Lambda.*", "\\$\\$Lambda"),
                        line -> Integer.valueOf(line.group(1)),
                        Integer::sum,
                        TreeMap::new)));
    }

    /** By class, what there is now more than then. */
    Map<String, Integer> moreThan(LiveObjects then) {
        return byClass.entrySet().stream()
                .filter(now -> now.getValue() > then.byClass.getOrDefault(now.getKey(), 0))
                .collect(Collectors.toMap(
                        Map.Entry::getKey,
                        now -> now.getValue() - then.byClass.getOrDefault(now.getKey(), 0),
                        Integer::sum,
                        TreeMap::new));
    }
}

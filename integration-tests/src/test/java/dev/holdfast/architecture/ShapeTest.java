package dev.holdfast.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * How large files are, how many need each other, and how many others each class holds. It prints what it has counted, largest
 * first.
 */
class ShapeTest {
    private static final int MOST_LINES = 600;
    private static final int LARGEST_KNOT = 5;
    private static final int MOST_COLLABORATORS = 10;
    private static final int SHOWN = 5;

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.holdfast");

    private record Counted(String name, int count) {}

    /** Prints the largest, and returns all, the largest first. */
    private static List<Counted> told(String what, Stream<Counted> counted) {
        List<Counted> all = counted.sorted(
                        Comparator.comparing(Counted::count).reversed().thenComparing(Counted::name))
                .toList();
        System.out.println(what + ":");
        all.stream().limit(SHOWN).forEach(each -> System.out.printf("  %4d %s%n", each.count(), each.name()));
        return all;
    }

    @Test
    void noFileTellsMoreThanOneStory() throws IOException {
        PathMatcher sources = FileSystems.getDefault().getPathMatcher("glob:../holdfast-*/src/main/java/**.java");
        List<Counted> files;
        try (Stream<Path> all = Files.walk(Path.of(".."))) {
            files = told(
                    "lines of files",
                    all.filter(sources::matches)
                            .filter(file -> !file.getFileName().toString().endsWith("-info.java"))
                            .map(ShapeTest::lines));
        }
        assertThat(files.get(0).count()).as(files.get(0).name()).isLessThanOrEqualTo(MOST_LINES);
    }

    private static Counted lines(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return new Counted(file.getFileName().toString(), (int) lines.count());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A knot: files of one package each of which needs all others, directly or by way of others in it. */
    @Test
    void fewFilesNeedEachOther() {
        Map<JavaClass, Set<JavaClass>> needs = new TreeMap<>(Comparator.comparing(JavaClass::getName));
        for (JavaClass each : CLASSES) {
            JavaClass file = file(each);
            Set<JavaClass> needed = needs.computeIfAbsent(file, first -> new HashSet<>());
            each.getDirectDependenciesFromSelf().stream()
                    .map(Dependency::getTargetClass)
                    .map(ShapeTest::file)
                    .filter(other -> other.getPackageName().equals(file.getPackageName()))
                    .forEach(needed::add);
        }
        Map<JavaClass, Set<JavaClass>> reach =
                needs.keySet().stream().collect(Collectors.toMap(file -> file, file -> reachable(file, needs)));
        Set<Set<JavaClass>> knots = needs.keySet().stream()
                .map(file -> knot(file, reach))
                .filter(knot -> knot.size() > 1)
                .collect(Collectors.toSet());

        List<Counted> counted =
                told("files that need each other", knots.stream().map(ShapeTest::named));

        assertThat(counted)
                .isNotEmpty()
                .allSatisfy(knot -> assertThat(knot.count()).as(knot.name()).isLessThanOrEqualTo(LARGEST_KNOT));
    }

    private static Counted named(Set<JavaClass> knot) {
        String files = knot.stream().map(JavaClass::getSimpleName).sorted().collect(Collectors.joining(", "));
        return new Counted(knot.iterator().next().getPackageName() + ": " + files, knot.size());
    }

    private static Set<JavaClass> reachable(JavaClass from, Map<JavaClass, Set<JavaClass>> needs) {
        Set<JavaClass> found = new HashSet<>();
        Deque<JavaClass> next = new ArrayDeque<>(Set.of(from));
        while (!next.isEmpty()) {
            needs.getOrDefault(next.pop(), Set.of()).stream().filter(found::add).forEach(next::push);
        }
        return found;
    }

    private static Set<JavaClass> knot(JavaClass file, Map<JavaClass, Set<JavaClass>> reach) {
        Set<JavaClass> knot = new HashSet<>(Set.of(file));
        reach.getOrDefault(file, Set.of()).stream()
                .filter(other -> reach.getOrDefault(other, Set.of()).contains(file))
                .forEach(knot::add);
        return knot;
    }

    /** Collaborators: the other classes of Holdfast whose objects it keeps in its fields, values and exceptions apart. */
    @Test
    void noClassHasManyCollaborators() {
        List<Counted> counted = told(
                "collaborators",
                CLASSES.stream().filter(each -> !each.isRecord()).map(ShapeTest::collaborators));

        assertThat(counted)
                .isNotEmpty()
                .allSatisfy(each -> assertThat(each.count()).as(each.name()).isLessThanOrEqualTo(MOST_COLLABORATORS));
    }

    private static Counted collaborators(JavaClass each) {
        Set<JavaClass> held = each.getFields().stream()
                .flatMap(field -> field.getAllInvolvedRawTypes().stream())
                .filter(type -> type.getPackageName().startsWith("dev.holdfast"))
                .filter(type -> !type.isRecord() && !type.isEnum() && !type.isAssignableTo(Throwable.class))
                .map(ShapeTest::file)
                .filter(file -> !file.equals(file(each)))
                .collect(Collectors.toSet());
        return new Counted(each.getName(), held.size());
    }

    /** The class after which the file of another one is named. */
    private static JavaClass file(JavaClass each) {
        JavaClass outer = each.getBaseComponentType();
        while (outer.getEnclosingClass().isPresent()) {
            outer = outer.getEnclosingClass().get();
        }
        return outer;
    }
}

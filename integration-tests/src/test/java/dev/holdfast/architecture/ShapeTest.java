package dev.holdfast.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * How large files and packages are, which names occur twice, how many files need each other, and how many others each class holds. It
 * prints what it has counted, largest first.
 */
class ShapeTest {
    private static final Path ROOT = Path.of("..");
    private static final int MOST_LINES = 600;
    private static final int LARGEST_KNOT = 5;
    private static final int MOST_COLLABORATORS = 10;
    private static final int MOST_FILES = 30;
    private static final int LONGEST_COMMENT = 140;
    private static final int SHOWN = 5;

    /** Packages that are larger, with the files that they may have: this list only becomes shorter. */
    private static final Map<String, Integer> LARGER = Map.of("holdfast-core/src/main/java/dev/holdfast", 31);

    private static final Pattern TOP_LEVEL_TYPE = Pattern.compile(
            "(?m)^(?:(?:public|abstract|final|sealed|non-sealed) )*(?:class|interface|record|enum|@interface) (\\w+)");

    /** The address of a page stands on one line. */
    private static final Pattern LONG_COMMENT =
            Pattern.compile("(?m)^(?=.{" + (LONGEST_COMMENT + 1) + "}) *(?:\\*|/\\*|//)(?!.*https?://).*$");

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

    /** All main code, but for what describes packages and modules. */
    private static List<Path> sources() throws IOException {
        return files().stream()
                .filter(file -> !file.toString().endsWith("-info.java"))
                .toList();
    }

    /** All main code, by their paths from the root. */
    private static List<Path> files() throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> modules = Files.newDirectoryStream(ROOT, "holdfast-*")) {
            for (Path module : modules) {
                Path main = module.resolve("src/main/java");
                if (Files.isDirectory(main)) {
                    try (Stream<Path> files = Files.walk(main)) {
                        files.filter(file -> file.toString().endsWith(".java"))
                                .map(ROOT::relativize)
                                .forEach(found::add);
                    }
                }
            }
        }
        return found;
    }

    @Test
    void noFileTellsMoreThanOneStory() throws IOException {
        List<Counted> files = told("lines of files", sources().stream().map(ShapeTest::lines));

        assertThat(files)
                .isNotEmpty()
                .allSatisfy(file -> assertThat(file.count()).as(file.name()).isLessThanOrEqualTo(MOST_LINES));
    }

    @Test
    void noPackageHasManyFiles() throws IOException {
        Map<String, Long> packages = sources().stream()
                .collect(Collectors.groupingBy(
                        file -> file.subpath(0, file.getNameCount() - 1).toString(), Collectors.counting()));

        assertThat(told(
                        "files of packages",
                        packages.entrySet().stream()
                                .map(each -> new Counted(
                                        each.getKey(), each.getValue().intValue()))))
                .allSatisfy(each -> assertThat(each.count())
                        .as(each.name())
                        .isLessThanOrEqualTo(LARGER.getOrDefault(each.name(), MOST_FILES)));
    }

    /** A name says of which class one speaks, without its package. */
    @Test
    void noNameOfATopLevelTypeOccursTwice() throws IOException {
        Map<String, List<String>> places = new TreeMap<>();
        for (Path file : sources()) {
            TOP_LEVEL_TYPE
                    .matcher(Files.readString(ROOT.resolve(file)))
                    .results()
                    .forEach(type -> places.computeIfAbsent(type.group(1), name -> new ArrayList<>())
                            .add(file.toString()));
        }

        assertThat(places).isNotEmpty();
        assertThat(places.values()).filteredOn(each -> each.size() > 1).isEmpty();
    }

    /** Code has the lines that the formatter gives it, which leaves comments as they are. */
    @Test
    void noLineOfACommentIsLong() throws IOException {
        List<String> longer = new ArrayList<>();
        for (Path file : files()) {
            LONG_COMMENT
                    .matcher(Files.readString(ROOT.resolve(file)))
                    .results()
                    .forEach(line -> longer.add(file + ": " + line.group().strip()));
        }

        assertThat(longer)
                .as("comments of more than %s columns", LONGEST_COMMENT)
                .isEmpty();
    }

    private static Counted lines(Path file) {
        try (Stream<String> lines = Files.lines(ROOT.resolve(file))) {
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

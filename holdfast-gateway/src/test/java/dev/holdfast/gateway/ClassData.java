package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a gateway runs from: its classes in archives, and class data that each process maps, as with the launcher. A start takes some three
 * fifths of the processor's time that it takes without.
 *
 * @param classPath archives only, for class data are of nothing else
 * @param data the file of the class data; where the JVM could make none, it is not there
 */
record ClassData(String classPath, Path data) {
    private static final Path FOLDER = Path.of("target", "class-data").toAbsolutePath();
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final List<String> QUICK = Pattern.compile(" ")
            .splitAsStream(System.getProperty("test.jvm.quick", ""))
            .filter(option -> !option.isEmpty())
            .toList();
    private static final ClassData OF_THIS_BUILD = ofThisBuild();

    /**
     * The words that run a gateway.
     *
     * @param options of its JVM
     * @param args the words of its command line
     */
    static List<String> gateway(List<String> options, List<String> args) {
        return OF_THIS_BUILD.words(options, args);
    }

    private List<String> words(List<String> options, List<String> args) {
        List<String> words =
                new ArrayList<>(List.of(JAVA, "-cp", classPath, "-Dlogback.configurationFile=logback.xml"));
        words.addAll(QUICK);
        if (Files.exists(data)) {
            words.addAll(List.of("-XX:SharedArchiveFile=" + data, "-Xlog:cds=off,cds+dynamic=off"));
        }
        words.addAll(options);
        words.add("dev.holdfast.gateway.Main");
        words.addAll(args);
        return words;
    }

    /** Of several test JVMs the first one makes them, and the others wait for it. */
    private static ClassData ofThisBuild() {
        List<Path> entries = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(Path::of)
                .filter(entry -> !entry.endsWith("test-classes"))
                .toList();
        List<Path> folders = entries.stream().filter(Files::isDirectory).toList();
        Path made = FOLDER.resolve(version(entries));
        List<String> archives = new ArrayList<>();
        for (Path entry : entries) {
            int folder = folders.indexOf(entry);
            archives.add((folder < 0 ? entry : made.resolve(folder + ".jar")).toString());
        }
        ClassData data = new ClassData(String.join(File.pathSeparator, archives), made.resolve("classes.jsa"));
        try {
            Files.createDirectories(FOLDER);
            try (FileChannel file = FileChannel.open(FOLDER.resolve("lock"), CREATE, WRITE);
                    FileLock lock = file.lock()) {
                if (!Files.exists(made)) {
                    Path fresh = Files.createTempDirectory(FOLDER, "new");
                    for (Path folder : folders) {
                        pack(folder, fresh.resolve(folders.indexOf(folder) + ".jar"));
                    }
                    Files.move(fresh, made, StandardCopyOption.ATOMIC_MOVE);
                }
                Path tried = made.resolve("tried");
                if (!Files.exists(tried)) {
                    data.dump();
                    Files.createFile(tried);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return data;
    }

    /** Another one for other classes, and for another JVM. */
    private static String version(List<Path> entries) {
        StringBuilder all = new StringBuilder(System.getProperty("java.vm.version"));
        for (Path entry : entries) {
            try (Stream<Path> files = Files.walk(entry)) {
                all.append(entry)
                        .append(files.map(ClassData::changed)
                                .max(FileTime::compareTo)
                                .orElseThrow());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return UUID.nameUUIDFromBytes(all.toString().getBytes(UTF_8)).toString();
    }

    private static FileTime changed(Path file) {
        try {
            return Files.getLastModifiedTime(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void pack(Path classes, Path jar) throws IOException {
        try (Stream<Path> files = Files.walk(classes);
                OutputStream out = Files.newOutputStream(jar);
                JarOutputStream archive = new JarOutputStream(out)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                archive.putNextEntry(new JarEntry(classes.relativize(file).toString()));
                Files.copy(file, archive);
            }
        }
    }

    /** A gateway that ends as soon as it serves leaves the data of the classes that it has used. If it does not, gateways start slowly. */
    private void dump() throws IOException {
        Path log = data.resolveSibling("dump.log");
        Path left = data.resolveSibling("classes.new");
        List<String> options = List.of("-XX:ArchiveClassesAtExit=" + left);
        Process gateway = new ProcessBuilder(words(options, List.of("serve", "--port", "0", "--store", "memory")))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            Wait.until("it serves", Wait.START, () -> !gateway.isAlive() || says(log, " listens on "));
            gateway.destroy();
            Wait.until("it has ended", Wait.START, () -> !gateway.isAlive());
            if (Files.exists(left)) {
                Files.move(left, data, StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (AssertionError e) {
            System.err.println("no class data were made: " + e.getMessage());
        } finally {
            gateway.destroyForcibly();
        }
    }

    private static boolean says(Path log, String what) {
        try {
            return Files.readString(log).contains(what);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

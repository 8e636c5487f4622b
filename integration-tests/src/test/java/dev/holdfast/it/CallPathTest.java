package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * How much of Holdfast one call enters. Whoever reads the code follows the same way, and the JIT compiles it: it must not grow. To make
 * one shorter, lower its bound here.
 *
 * <p>What is counted, in a JVM that has made such calls before, on all threads, from the first byte of a request until all is quiet
 * after the last one of its answer:
 *
 * <ul>
 *   <li><b>types</b>: top-level types, records too, of which a method is entered, be it their own or that of a type within.
 *   <li><b>entries</b>: each time that a method begins. Constructors count, bodies of lambdas count, getters count; a call of the
 *       JDK, the SDK or the container does not, nor does a static initializer.
 *   <li><b>depth</b>: the most methods of Holdfast that are on one thread's stack at once. A lambda adds nothing to it, for its body
 *       was written in a method that counts.
 * </ul>
 *
 * Left out is what timers enter: what begins on a thread while no call is made, and all that it enters; and of the threads that loop,
 * the methods that they enter meanwhile. Of eleven calls, each of a session that has made one before, it is the fewest types and entries,
 * for a call may be longer because two threads met, and the median of the depths.
 */
class CallPathTest {
    /** What a line with figures begins with. */
    static final String MARK = "callpath";

    /** The property that asks for the types of each path. */
    static final String LIST = "callpath.list";

    /** Bounds: no more than these types, entries, and methods on the stack. */
    private enum CallPath {
        // types, entries, depth
        /** A tools/call: Jetty, a server of the SDK, nothing kept outside memory, meters. */
        MEMORY(81, 692, 33),
        /** A GET with Last-Event-ID, of the stream of a call that has ended, at the same server. */
        RESUME(50, 353, 16),
        /** A tools/call through the gateway, to a child on stdio, with RocksDB; what is entered in the gateway. */
        STDIO(101, 1050, 28),
        /** A tools/call by the Java client. */
        CLIENT(41, 430, 19),
        /** The same, its connection ended before the answer: with a GET that fetches it. */
        RESUMED(42, 570, 19);

        private final int types;
        private final int entries;
        private final int depth;

        CallPath(int types, int entries, int depth) {
            this.types = types;
            this.entries = entries;
            this.depth = depth;
        }

        private List<Integer> bounds() {
            return List.of(types, entries, depth);
        }
    }

    @TempDir
    Path folder;

    /** An agent is a jar that names its class; the class is on the class path. */
    private Path agent() throws Exception {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", CallRecorder.class.getName());
        Path jar = folder.resolve("agent.jar");
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
        return jar;
    }

    /** Measures all, prints what the process prints, and returns its lines with figures, in words. */
    private List<List<String>> measured() throws Exception {
        Process process = JavaProcess.launch(List.of(
                "-D" + LIST + "=" + Boolean.getBoolean(LIST),
                "-javaagent:" + agent(),
                "-cp",
                System.getProperty("java.class.path"),
                CallPaths.class.getName(),
                folder.resolve("store").toString()));
        try (BufferedReader lines = process.inputReader(UTF_8)) {
            return lines.lines()
                    .peek(System.out::println)
                    .map(line -> List.of(line.split(" ")))
                    .filter(words -> words.get(0).equals(MARK))
                    .toList();
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    @Timeout(180)
    void noCallEntersMoreThanBefore() throws Exception {
        List<List<String>> measured = measured();

        assertThat(measured)
                .extracting(words -> words.get(1))
                .containsExactlyElementsOf(
                        Stream.of(CallPath.values()).map(CallPath::name).toList());
        assertThat(measured).allSatisfy(words -> {
            CallPath bound = CallPath.valueOf(words.get(1));
            assertThat(List.of(words.get(2), words.get(3), words.get(4)))
                    .extracting(Integer::parseInt)
                    .as("types, entries and depth of %s, at most %s; -D%s=true lists them", bound, bound.bounds(), LIST)
                    .satisfies(figures -> assertThat(figures.get(0)).isLessThanOrEqualTo(bound.types))
                    .satisfies(figures -> assertThat(figures.get(1)).isLessThanOrEqualTo(bound.entries))
                    .satisfies(figures -> assertThat(figures.get(2)).isLessThanOrEqualTo(bound.depth));
        });
    }
}

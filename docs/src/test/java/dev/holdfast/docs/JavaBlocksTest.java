package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Compiles what stands in the pages as Java: whole files, declarations, or statements. */
class JavaBlocksTest {
    /** What a reader's IDE adds. */
    private static final List<String> IMPORTED = List.of(
            "dev.holdfast.*",
            "dev.holdfast.mcp.*",
            "dev.holdfast.redis.*",
            "dev.holdfast.rocksdb.*",
            "dev.holdfast.servlet.*",
            "io.modelcontextprotocol.server.*",
            "java.net.URI",
            "java.nio.file.Path",
            "java.time.Duration",
            "java.util.*",
            "org.springframework.beans.factory.annotation.Qualifier",
            "org.springframework.boot.web.servlet.ServletRegistrationBean",
            "org.springframework.context.annotation.*");

    static Stream<Arguments> blocks() {
        return Page.all().stream()
                .flatMap(page -> page.blocks("java").stream().map(block -> Arguments.of(page, block)));
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void itCompiles(Page page, String block, @TempDir Path classes) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> complaints = new ArrayList<>();
        List<String> options = List.of("-d", classes.toString(), "-classpath", System.getProperty("java.class.path"));

        compiler.getTask(
                        new StringWriter(),
                        null,
                        problem -> complaints.add(problem.toString()),
                        options,
                        null,
                        List.of(new Source(wrapped(block))))
                .call();

        assertThat(complaints).as("%s:%n%s", page, block).isEmpty();
    }

    private static String wrapped(String block) {
        if (block.startsWith("package ") || block.startsWith("import ")) {
            return block;
        }
        String imports = IMPORTED.stream().map(name -> "import " + name + ";").collect(Collectors.joining("\n"));
        boolean declares = block.startsWith("@") || block.startsWith("class ");
        boolean method = block.startsWith("void ");
        String body = method ? block : "void run() throws Exception {\n" + block + "}\n";
        return imports + "\n" + (declares ? block : "class Block {\n" + body + "}\n");
    }

    /** A file in memory, under the name of the class that it declares as public, if it does. */
    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String text) {
            super(URI.create("string:///" + name(text) + ".java"), JavaFileObject.Kind.SOURCE);
            this.text = text;
        }

        private static String name(String text) {
            int declared = text.indexOf("public class ");
            return declared < 0
                    ? "Block"
                    : text.substring(declared + "public class ".length()).split(" ", 2)[0];
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}

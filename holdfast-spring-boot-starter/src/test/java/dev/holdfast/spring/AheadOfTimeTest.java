package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spring.autoconfigure.HoldfastAutoConfiguration;
import dev.holdfast.spring.autoconfigure.HoldfastFilterAutoConfiguration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.web.server.servlet.context.AnnotationConfigServletWebServerApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.javapoet.ClassName;

/** What is said ahead of time to a native image, which finds no class by its name otherwise. */
class AheadOfTimeTest {
    private static RuntimeHints hints(ClassLoader classes) {
        AnnotationConfigServletWebServerApplicationContext application =
                new AnnotationConfigServletWebServerApplicationContext();
        application.setClassLoader(classes);
        application
                .getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource("test", Map.of("spring.ai.mcp.server.protocol", "STREAMABLE")));
        application.register(HoldfastAutoConfiguration.class, HoldfastFilterAutoConfiguration.class);
        return hints(application);
    }

    private static RuntimeHints hints(GenericApplicationContext application) {
        GeneratedFiles files = new InMemoryGeneratedFiles();
        DefaultGenerationContext generated =
                new DefaultGenerationContext(new ClassNameGenerator(ClassName.get(AheadOfTimeTest.class)), files);
        new ApplicationContextAotGenerator().processAheadOfTime(application, generated);
        return generated.getRuntimeHints();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "org.springframework.ai.mcp.server.common.autoconfigure.McpServerAutoConfiguration",
                "org.springframework.ai.mcp.server.webmvc.autoconfigure.McpServerStreamableHttpWebMvcAutoConfiguration",
                "org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath",
                "io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper"
            })
    void whatIsLookedForByItsNameIsFound(String type) {
        assertThat(RuntimeHintsPredicates.reflection().onType(TypeReference.of(type)))
                .accepts(hints(AheadOfTimeTest.class.getClassLoader()));
    }

    @Test
    void whatIsNotThereIsNotFound() {
        String server = "org.springframework.ai.mcp.server.common.autoconfigure.McpServerAutoConfiguration";

        assertThat(RuntimeHintsPredicates.reflection().onType(TypeReference.of(server)))
                .rejects(hints(new FilteredClassLoader(server::equals)));
    }
}

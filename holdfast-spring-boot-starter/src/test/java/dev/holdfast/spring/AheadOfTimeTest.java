package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spring.autoconfigure.HoldfastAutoConfiguration;
import dev.holdfast.spring.autoconfigure.HoldfastIntegrationAutoConfiguration;
import dev.holdfast.spring.autoconfigure.HoldfastReportAutoConfiguration;
import jakarta.servlet.http.HttpServlet;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles;
import org.springframework.aot.generate.GenerationContext;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.web.server.servlet.context.AnnotationConfigServletWebServerApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.javapoet.ClassName;

/** What is decided ahead of time, and what is said then to a native image, which finds no class by its name otherwise. */
class AheadOfTimeTest {
    private static GenericApplicationContext application(ClassLoader classes, Map<String, Object> properties) {
        AnnotationConfigServletWebServerApplicationContext application =
                new AnnotationConfigServletWebServerApplicationContext();
        application.setClassLoader(classes);
        MutablePropertySources sources = application.getEnvironment().getPropertySources();
        sources.addFirst(new MapPropertySource("server", Map.of("spring.ai.mcp.server.protocol", "STREAMABLE")));
        sources.addFirst(new MapPropertySource("test", properties));
        application.register(
                HoldfastAutoConfiguration.class,
                HoldfastReportAutoConfiguration.class,
                HoldfastIntegrationAutoConfiguration.class);
        return application;
    }

    private static GenerationContext processed(GenericApplicationContext application, GeneratedFiles files) {
        DefaultGenerationContext generated =
                new DefaultGenerationContext(new ClassNameGenerator(ClassName.get(AheadOfTimeTest.class)), files);
        new ApplicationContextAotGenerator().processAheadOfTime(application, generated);
        generated.writeGeneratedContent();
        return generated;
    }

    private static RuntimeHints hints(ClassLoader classes) {
        return processed(application(classes, Map.of()), new InMemoryGeneratedFiles())
                .getRuntimeHints();
    }

    private static Map<String, String> sources(String store) {
        InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
        processed(application(AheadOfTimeTest.class.getClassLoader(), Map.of("holdfast.store.type", store)), files);
        Map<String, String> sources = new TreeMap<>();
        files.getGeneratedFiles(GeneratedFiles.Kind.SOURCE).forEach((path, file) -> sources.put(path, file.toString()));
        return sources;
    }

    @ParameterizedTest
    @ValueSource(strings = {"rocksdb", "redis"})
    void theStoreIsChosenWhenTheApplicationStarts(String type) {
        assertThat(sources("memory")).isNotEmpty().isEqualTo(sources(type));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jakarta.servlet.http.HttpServlet",
                "org.springframework.ai.mcp.server.common.autoconfigure.McpServerAutoConfiguration",
                "org.springframework.ai.mcp.server.webmvc.autoconfigure.McpServerStreamableHttpWebMvcAutoConfiguration",
                "org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath",
                "io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper",
                "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails",
                "dev.holdfast.rocksdb.RocksDbStore",
                "dev.holdfast.redis.RedisStore"
            })
    void whatIsLookedForByItsNameIsFound(String type) {
        assertThat(RuntimeHintsPredicates.reflection().onType(TypeReference.of(type)))
                .accepts(hints(AheadOfTimeTest.class.getClassLoader()));
    }

    /** The report asks for them, to say why. */
    @Test
    void theyAreFoundTooWhereNothingIsServed() {
        Map<String, Object> stateless = Map.of("spring.ai.mcp.server.protocol", "STATELESS");
        RuntimeHints hints = processed(
                        application(AheadOfTimeTest.class.getClassLoader(), stateless), new InMemoryGeneratedFiles())
                .getRuntimeHints();

        assertThat(RuntimeHintsPredicates.reflection().onType(HttpServlet.class))
                .accepts(hints);
    }

    @Test
    void whatIsNotThereIsNotFound() {
        String server = "org.springframework.ai.mcp.server.common.autoconfigure.McpServerAutoConfiguration";

        assertThat(RuntimeHintsPredicates.reflection().onType(TypeReference.of(server)))
                .rejects(hints(new FilteredClassLoader(server::equals)));
    }
}

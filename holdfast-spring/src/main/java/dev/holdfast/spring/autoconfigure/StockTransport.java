package dev.holdfast.spring.autoconfigure;

import dev.holdfast.spring.properties.SpringAiServer;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.util.ClassUtils;

/** Which transport the application would have without Holdfast, and whether Holdfast takes its place. */
enum StockTransport {
    /** None: Spring AI has no MCP server here, and a server of the plain SDK takes the transport it is given. */
    NONE,
    /** A transport of Spring AI that Holdfast takes the place of. */
    REPLACED,
    /**
     * What there is stays: a transport over stdio, a stateless or reactive one, HTTP+SSE where that is not asked for, none of a
     * server that is disabled, or whatever it is where Holdfast is disabled.
     */
    KEPT;

    /** A file that the starters for servers bring, and those for clients do not. */
    static final String STARTER = "classpath:META-INF/holdfast-server-starter";

    /** The auto-configurations of Spring AI that make a transport Holdfast can take the place of. */
    static final String STREAMABLE =
            "org.springframework.ai.mcp.server.webmvc.autoconfigure.McpServerStreamableHttpWebMvcAutoConfiguration";

    static final String SSE =
            "org.springframework.ai.mcp.server.webmvc.autoconfigure.McpServerSseWebMvcAutoConfiguration";

    private static final String TO_BE_STREAMABLE = "spring.ai.mcp.server.protocol=STREAMABLE";

    /** The same two in Spring AI 1.1. */
    static final String STREAMABLE_1 =
            "org.springframework.ai.mcp.server.autoconfigure.McpServerStreamableHttpWebMvcAutoConfiguration";

    static final String SSE_1 = "org.springframework.ai.mcp.server.autoconfigure.McpServerSseWebMvcAutoConfiguration";

    /** The auto-configuration that makes Spring AI's MCP server, whatever its transport. */
    static final String SERVER = "org.springframework.ai.mcp.server.common.autoconfigure.McpServerAutoConfiguration";

    /** The same in Spring AI 1.0, which is too old. */
    static final String SERVER_OF_1_0 = "org.springframework.ai.mcp.server.autoconfigure.McpServerAutoConfiguration";

    static StockTransport of(Environment environment, @Nullable ClassLoader classes) {
        if (choice(environment, classes).isPresent()
                || obstacle(environment, classes).isPresent()) {
            return KEPT;
        }
        return ClassUtils.isPresent(SERVER, classes) ? REPLACED : NONE;
    }

    /** Which property says that nothing is to be served, where one does. */
    static Optional<String> choice(Environment environment, @Nullable ClassLoader classes) {
        if (!environment.getProperty("holdfast.enabled", Boolean.class, true)) {
            return Optional.of("holdfast.enabled");
        }
        boolean none = ClassUtils.isPresent(SERVER, classes) && !new SpringAiServer(environment).isEnabled();
        return none ? Optional.of("spring.ai.mcp.server.enabled") : Optional.empty();
    }

    /** What else keeps Holdfast from serving, if anything does, and what to do about it. */
    static Optional<String> obstacle(Environment environment, @Nullable ClassLoader classes) {
        if (ofAnotherBoot(SpringBootVersion.getVersion())) {
            return Optional.of("it needs Spring Boot 3.5 or 4, and this is " + SpringBootVersion.getVersion());
        }
        if (!ClassUtils.isPresent(SERVER, classes)) {
            return ClassUtils.isPresent(SERVER_OF_1_0, classes)
                    ? Optional.of("it needs Spring AI 1.1 or 2.0, and this one is older")
                    : Optional.empty();
        }
        SpringAiServer server = new SpringAiServer(environment);
        if (server.isStdio()) {
            return Optional.of(
                    "spring.ai.mcp.server.stdio is true, so the server talks over its standard input and output."
                            + " Remove it to serve HTTP");
        }
        if (!ClassUtils.isPresent(STREAMABLE, classes) && !ClassUtils.isPresent(STREAMABLE_1, classes)) {
            return Optional.of("it needs Spring MVC. Depend on spring-ai-starter-mcp-server-webmvc in the place of"
                    + " spring-ai-starter-mcp-server-webflux or spring-ai-starter-mcp-server");
        }
        return switch (server.protocol()) {
            case "STREAMABLE" -> Optional.empty();
            case "SSE" ->
                environment.getProperty("holdfast.sse.enabled", Boolean.class, false)
                        ? Optional.empty()
                        : Optional.of("Spring AI serves SSE, as it does unless " + TO_BE_STREAMABLE
                                + " is set. Set it, or holdfast.sse.enabled=true for clients that know SSE only");
            case "STATELESS" ->
                Optional.of("a server that is STATELESS has no sessions to keep. Set " + TO_BE_STREAMABLE);
            default -> Optional.of("it does not know the protocol " + server.protocol() + ". Set " + TO_BE_STREAMABLE);
        };
    }

    static boolean ofAnotherBoot(String version) {
        return !version.startsWith("4.") && !version.startsWith("3.5.");
    }

    /**
     * Leaves out the auto-configurations of transports whose place Holdfast takes. They make their beans whatever other transports there
     * are: with two, Spring AI's server does not start, and each connection of a client would exist twice.
     */
    static final class Filter implements AutoConfigurationImportFilter, EnvironmentAware, BeanClassLoaderAware {
        private static final Set<String> OF_SERVERS = Set.of(STREAMABLE, SSE, STREAMABLE_1, SSE_1);

        private @Nullable Environment environment;
        private @Nullable ClassLoader classes;

        @Override
        public void setEnvironment(Environment value) {
            environment = value;
        }

        @Override
        public void setBeanClassLoader(ClassLoader value) {
            classes = value;
        }

        @Override
        public boolean[] match(@Nullable String[] names, AutoConfigurationMetadata metadata) {
            Set<String> replaced = replaced();
            boolean[] stays = new boolean[names.length];
            for (int i = 0; i < names.length; i++) {
                String name = names[i];
                stays[i] = name == null || !replaced.contains(name);
            }
            return stays;
        }

        private Set<String> replaced() {
            Environment given = environment;
            if (given == null) {
                return Set.of();
            }
            Set<String> replaced = new HashSet<>();
            if (isPresent("dev.holdfast.mcp.HoldfastTransportProvider")
                    && new DefaultResourceLoader(classes).getResource(STARTER).exists()
                    && StockTransport.of(given, classes) == REPLACED) {
                replaced.addAll(OF_SERVERS);
            }
            if (isPresent("dev.holdfast.mcp.client.HoldfastClientTransport")
                    && HoldfastClientAutoConfiguration.OnEnabled.isEnabled(given)) {
                replaced.add(HoldfastClientAutoConfiguration.STOCK);
            }
            return replaced;
        }

        private boolean isPresent(String type) {
            return ClassUtils.isPresent(type, classes);
        }
    }
}

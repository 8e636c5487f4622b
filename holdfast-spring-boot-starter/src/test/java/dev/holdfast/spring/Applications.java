package dev.holdfast.spring;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** Applications that run, each on a port of its own. */
final class Applications {
    private Applications() {}

    /** Starts an application of Spring AI over Streamable HTTP. */
    static ConfigurableApplicationContext start(Class<?> application, String... properties) {
        SpringApplication prepared = new SpringApplication(application);
        prepared.setDefaultProperties(Map.of("server.port", "0", "spring.ai.mcp.server.protocol", "STREAMABLE"));
        return prepared.run(properties);
    }

    static int port(ConfigurableApplicationContext application) {
        return application.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
    }
}

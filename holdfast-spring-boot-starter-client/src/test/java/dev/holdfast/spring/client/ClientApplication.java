package dev.holdfast.spring.client;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.search.RequiredSearch;
import io.modelcontextprotocol.client.McpSyncClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.springframework.ai.mcp.client.common.autoconfigure.McpClientAutoConfiguration.CloseableMcpSyncClients;
import org.springframework.ai.mcp.client.common.autoconfigure.NamedClientMcpTransport;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ConfigurableApplicationContext;

/** An application with a client of Spring AI, as its documentation writes it. */
@SpringBootConfiguration
@EnableAutoConfiguration
class ClientApplication {
    /** Starts it with a connection {@code weather}, and with more beans. */
    static ConfigurableApplicationContext start(RestartableServer server, Class<?> more, String... properties) {
        SpringApplication application = new SpringApplication(ClientApplication.class, more);
        application.setWebApplicationType(WebApplicationType.NONE);
        List<String> arguments = new ArrayList<>(List.of(properties));
        arguments.add("--spring.ai.mcp.client.streamable-http.connections.weather.url=" + server.url());
        arguments.add("--spring.ai.mcp.client.streamable-http.connections.weather.endpoint=/tools");
        return application.run(arguments.toArray(new String[0]));
    }

    static ConfigurableApplicationContext start(RestartableServer server, String... properties) {
        return start(server, ClientApplication.class, properties);
    }

    /** The transports that a bean of it holds. */
    static List<NamedClientMcpTransport> transports(ConfigurableApplicationContext application, String bean) {
        List<?> transports = application.getBean(bean, List.class);
        return transports.stream().map(NamedClientMcpTransport.class::cast).toList();
    }

    /** What it measures of a connection. */
    static RequiredSearch meter(ConfigurableApplicationContext application, String meter, String connection) {
        return application
                .getBean(MeterRegistry.class)
                .get("holdfast.client." + meter)
                .tag("connection", connection);
    }

    /** The code of a connection's health. */
    static String health(ConfigurableApplicationContext application, String connection) {
        HealthIndicator indicator = (HealthIndicator) application
                .getBean("holdfastClientHealthContributor", CompositeHealthContributor.class)
                .getContributor(connection);
        return Objects.requireNonNull(Objects.requireNonNull(indicator).health())
                .getStatus()
                .getCode();
    }

    /** Its one client. */
    static McpSyncClient client(ConfigurableApplicationContext application) {
        return application.getBean(CloseableMcpSyncClients.class).clients().get(0);
    }
}

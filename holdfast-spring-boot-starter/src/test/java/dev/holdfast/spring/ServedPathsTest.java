package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spring.autoconfigure.HoldfastAutoConfiguration;
import dev.holdfast.spring.autoconfigure.HoldfastIntegrationAutoConfiguration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableWebApplicationContext;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The servlet is registered where its transport serves, whoever has said where that is. */
class ServedPathsTest {
    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withClassLoader(new FilteredClassLoader("org.springframework.ai"))
            .withConfiguration(
                    AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastIntegrationAutoConfiguration.class));

    @Configuration(proxyBeanMethods = false)
    static class Customized {
        @Bean
        HoldfastCustomizer paths() {
            return transport -> transport.mcpEndpoint("/tools").sseEndpoint("/events");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Own {
        @Bean(destroyMethod = "destroy")
        HoldfastTransportProvider transport() {
            return HoldfastTransportProvider.builder().mcpEndpoint("/own").build();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class SameName {
        @Bean
        String holdfastServlet() {
            return "something else";
        }
    }

    private static List<String> paths(AssertableWebApplicationContext context) {
        ServletRegistrationBean<?> servlet = context.getBean("holdfastServlet", ServletRegistrationBean.class);
        return List.copyOf(servlet.getUrlMappings());
    }

    @Test
    void thePropertiesSayWhere() {
        runner.withPropertyValues(
                        "holdfast.mcp-endpoint=/here",
                        "holdfast.sse.enabled=true",
                        "holdfast.sse.message-endpoint=/post")
                .run(context -> assertThat(paths(context))
                        .containsExactly("/here", "/sse", "/post", "/here/", "/sse/", "/post/"));
    }

    @Test
    void aCustomizerHasTheLastWord() {
        runner.withUserConfiguration(Customized.class)
                .withPropertyValues("holdfast.mcp-endpoint=/here")
                .run(context -> assertThat(paths(context))
                        .containsExactly("/tools", "/events", "/message", "/tools/", "/events/", "/message/"));
    }

    @Test
    void aTransportOfTheApplicationsOwnIsServedWhereItSays() {
        runner.withUserConfiguration(Own.class)
                .run(context -> assertThat(paths(context)).containsExactly("/own", "/own/"));
    }

    @Test
    void aBeanThatOnlyHasTheNameStopsNoStart() {
        runner.withUserConfiguration(SameName.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean("holdfastFilter", FilterRegistrationBean.class)
                            .isEnabled())
                    .isFalse();
        });
    }
}

package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.spring.autoconfigure.HoldfastAutoConfiguration;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

/** Beans of which there may be one, where there are two. */
class SeveralBeansTest {
    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withClassLoader(new FilteredClassLoader("org.springframework.ai"))
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class));

    @Configuration(proxyBeanMethods = false)
    static class TwoAuthenticators {
        @Bean
        Authenticator byToken() {
            return request -> new Authenticator.Stranger();
        }

        @Bean
        Authenticator byNetwork() {
            return request -> new Authenticator.Known("");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OneOfTwoAuthenticators {
        @Bean
        @Primary
        Authenticator byToken() {
            return request -> new Authenticator.Stranger();
        }

        @Bean
        Authenticator byNetwork() {
            return request -> new Authenticator.Known("");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class TwoExtractors {
        @Bean
        McpTransportContextExtractor<HttpServletRequest> one() {
            return request -> McpTransportContext.EMPTY;
        }

        @Bean
        McpTransportContextExtractor<HttpServletRequest> other() {
            return request -> McpTransportContext.EMPTY;
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {TwoAuthenticators.class, TwoExtractors.class})
    void theStartFailsAndNamesBoth(Class<?> beans) {
        List<String> names = beans == TwoExtractors.class ? List.of("one", "other") : List.of("byToken", "byNetwork");

        runner.withUserConfiguration(beans)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .isInstanceOf(NoUniqueBeanDefinitionException.class)
                        .hasMessageContainingAll(names.toArray(CharSequence[]::new)));
    }

    @Test
    void theOneThatIsPrimaryIsUsed() {
        runner.withUserConfiguration(OneOfTwoAuthenticators.class).run(context -> {
            MockHttpServletRequest request = new MockHttpServletRequest("GET", "/stats");
            request.addHeader("Host", "localhost");
            MockHttpServletResponse response = new MockHttpServletResponse();

            assertThat(context.getBean(HoldfastTransportProvider.class).admits(request, response))
                    .isFalse();
            assertThat(response.getStatus()).isEqualTo(401);
        });
    }
}

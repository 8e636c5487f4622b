package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import java.net.http.HttpResponse;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.servlet.util.matcher.PathPatternRequestMatcher;
import org.springframework.security.web.util.matcher.RequestMatcher;

/** A path with a slash at its end is the same path, for the rules of Spring Security too. */
@Timeout(120)
class TrailingSlashTest {
    private static final String ALICE = "Basic YWxpY2U6c2VjcmV0";

    @SpringBootConfiguration
    @EnableAutoConfiguration
    @Import(AiApplication.Tools.class)
    static class Secured {
        @Bean
        SecurityFilterChain rules(HttpSecurity http) throws Exception {
            return http.csrf(csrf -> csrf.disable())
                    .authorizeHttpRequests(requests -> requests.requestMatchers(
                                    // Spring Security 6 takes no texts where Spring MVC has a path of its own
                                    Stream.of("/mcp", "/sse", "/message", "/api/mcp", "/api/sse", "/api/message")
                                            .map(PathPatternRequestMatcher.withDefaults()::matcher)
                                            .toArray(RequestMatcher[]::new))
                            .authenticated()
                            .anyRequest()
                            .permitAll())
                    .httpBasic(Customizer.withDefaults())
                    .build();
        }

        @Bean
        InMemoryUserDetailsManager users() {
            return new InMemoryUserDetailsManager(
                    User.withUsername("alice").password("{noop}secret").build());
        }
    }

    @ParameterizedTest
    @CsvSource({"'', /", "/app, /", "/app, /api"})
    void litellm34845_aRuleForThePathHoldsWithTheSlashToo(String context, String mvc) throws Exception {
        try (ConfigurableApplicationContext application = Applications.start(
                Secured.class,
                "--holdfast.sse.enabled=true",
                "--holdfast.sse.message-endpoint=/message",
                "--server.servlet.context-path=" + context,
                "--spring.mvc.servlet.path=" + mvc)) {
            int port = Applications.port(application);
            String before = context + (mvc.equals("/") ? "" : mvc);
            for (String path : new String[] {"/mcp", "/sse", "/message"}) {
                for (String method : new String[] {"POST", "GET", "DELETE"}) {
                    assertThat(Wire.page(port, method, before + path).statusCode())
                            .isEqualTo(401);
                    assertThat(Wire.page(port, method, before + path + "/").statusCode())
                            .as(method + " " + path)
                            .isEqualTo(401);
                }
            }
            Wire alice = Wire.open(port, before + "/mcp/", "Authorization", ALICE);
            assertThat(alice.call("greet", "{\"name\":\"you\"}")).contains("hello you");
            HttpResponse<Stream<String>> listening = alice.listen();
            assertThat(listening.statusCode()).isEqualTo(200);
            assertThat(alice.delete()).isEqualTo(200);
            assertThat(listening.body().toList()).isNotEmpty();
        }
    }

    @Test
    void aRootHasNoOtherSpelling() throws Exception {
        try (ConfigurableApplicationContext application =
                Applications.start(AiApplication.class, "--spring.ai.mcp.server.streamable-http.mcp-endpoint=/")) {
            assertThat(application.getBean(HoldfastTransportProvider.class).endpoints())
                    .containsExactly("/");
        }
    }
}

package dev.holdfast.spring;

import java.util.concurrent.TimeUnit;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.ai.mcp.annotation.McpToolParam;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.stereotype.Component;
import org.springframework.web.context.request.RequestContextHolder;

/** A server as Spring AI's documentation writes it. */
@SpringBootConfiguration
@EnableAutoConfiguration
@Import({AiApplication.Tools.class, AiApplication.Security.class})
class AiApplication {
    @Component
    static class Tools {
        @McpTool(name = "greet", description = "Greets")
        String greet(@McpToolParam(description = "whom") String name) {
            return "hello " + name + ", request " + (RequestContextHolder.getRequestAttributes() != null);
        }

        @McpTool(name = "slow", description = "Takes its time")
        String slow(@McpToolParam(description = "how long") int millis) throws InterruptedException {
            TimeUnit.MILLISECONDS.sleep(millis);
            return "slept " + millis;
        }
    }

    /** Knows alice and bob, and lets everybody in. */
    @Configuration(proxyBeanMethods = false)
    static class Security {
        @Bean
        SecurityFilterChain everybody(HttpSecurity http) throws Exception {
            return http.csrf(csrf -> csrf.disable())
                    .httpBasic(Customizer.withDefaults())
                    .authorizeHttpRequests(requests -> requests.anyRequest().permitAll())
                    .build();
        }

        @Bean
        UserDetailsService users() {
            return new InMemoryUserDetailsManager(
                    User.withUsername("alice").password("{noop}secret").build(),
                    User.withUsername("bob").password("{noop}secret").build());
        }
    }
}

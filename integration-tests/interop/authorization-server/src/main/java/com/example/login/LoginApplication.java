package com.example.login;

import static org.springframework.security.config.Customizer.withDefaults;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.SecurityContext;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.core.endpoint.OAuth2AuthorizationRequest;
import org.springframework.security.oauth2.server.authorization.OAuth2TokenType;
import org.springframework.security.oauth2.server.authorization.client.InMemoryRegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.settings.AuthorizationServerSettings;
import org.springframework.security.oauth2.server.authorization.settings.TokenSettings;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** Logs users in by their passwords, and makes tokens for the resource that a client names. */
@SpringBootApplication
@RestController
public class LoginApplication {
    private final AtomicReference<JWKSet> keys = new AtomicReference<>(fresh());

    public static void main(String... args) {
        SpringApplication.run(LoginApplication.class, args);
    }

    private static JWKSet fresh() {
        try {
            RSAKey key = new RSAKeyGenerator(2048).keyID(UUID.randomUUID().toString()).generate();
            return new JWKSet(key);
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Signs by another key from now on, and shows no other. */
    @PostMapping("/rotate")
    void rotate() {
        keys.set(fresh());
    }

    @Bean
    JWKSource<SecurityContext> jwkSource() {
        return (selector, context) -> selector.select(keys.get());
    }

    @Bean
    @Order(1)
    SecurityFilterChain protocol(HttpSecurity http) throws Exception {
        return http.oauth2AuthorizationServer(server -> {
                    http.securityMatcher(server.getEndpointsMatcher());
                    server.oidc(withDefaults());
                })
                .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
                .build();
    }

    @Bean
    @Order(2)
    SecurityFilterChain others(HttpSecurity http) throws Exception {
        return http.csrf(csrf -> csrf.disable())
                .authorizeHttpRequests(requests -> requests.anyRequest().permitAll())
                .formLogin(withDefaults())
                .build();
    }

    @Bean
    AuthorizationServerSettings settings(@Value("${server.port}") int port) {
        return AuthorizationServerSettings.builder()
                .issuer("http://127.0.0.1:" + port)
                .build();
    }

    @Bean
    UserDetailsService users() {
        return new InMemoryUserDetailsManager(List.of(
                User.withUsername("alice").password("{noop}secret").build(),
                User.withUsername("bob").password("{noop}secret").build()));
    }

    @Bean
    RegisteredClientRepository clients(@Value("${token-time:5m}") Duration tokenTime) {
        return new InMemoryRegisteredClientRepository(RegisteredClient.withId("client")
                .clientId("client")
                .clientSecret("{noop}client-secret")
                .clientAuthenticationMethod(ClientAuthenticationMethod.CLIENT_SECRET_POST)
                .authorizationGrantType(AuthorizationGrantType.AUTHORIZATION_CODE)
                .authorizationGrantType(AuthorizationGrantType.REFRESH_TOKEN)
                .redirectUri("http://127.0.0.1:9/callback")
                .scope("tools")
                .scope("more")
                .tokenSettings(TokenSettings.builder().accessTokenTimeToLive(tokenTime).build())
                .build());
    }

    /** RFC 8707: a token is for the resource that the client has named. */
    @Bean
    OAuth2TokenCustomizer<JwtEncodingContext> audience() {
        return context -> {
            if (OAuth2TokenType.ACCESS_TOKEN.equals(context.getTokenType()) && context.getAuthorization() != null) {
                OAuth2AuthorizationRequest request =
                        context.getAuthorization().getAttribute(OAuth2AuthorizationRequest.class.getName());
                if (request != null && request.getAdditionalParameters().get("resource") instanceof String resource) {
                    context.getClaims().audience(List.of(resource));
                }
            }
        };
    }
}

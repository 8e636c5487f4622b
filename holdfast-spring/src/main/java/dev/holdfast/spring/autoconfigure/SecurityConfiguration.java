package dev.holdfast.spring.autoconfigure;

import dev.holdfast.servlet.Authenticator;
import dev.holdfast.spring.security.SpringSecurityAuthenticator;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.core.context.SecurityContextHolder;

/** Who asks, where Spring Security knows it. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(SecurityContextHolder.class)
class SecurityConfiguration {
    @Bean
    @ConditionalOnMissingBean(Authenticator.class)
    Authenticator holdfastAuthenticator() {
        return new SpringSecurityAuthenticator();
    }
}

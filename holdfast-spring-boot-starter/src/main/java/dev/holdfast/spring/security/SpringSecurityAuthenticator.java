package dev.holdfast.spring.security;

import dev.holdfast.servlet.Authenticator;
import jakarta.servlet.http.HttpServletRequest;
import org.springframework.security.authentication.AuthenticationTrustResolver;
import org.springframework.security.authentication.AuthenticationTrustResolverImpl;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.context.SecurityContextHolder;

/**
 * Whom Spring Security has authenticated, by name; where it knows nobody, whom the servlet container knows. Whether somebody unknown
 * may ask is for the application's filter chain to say.
 */
public final class SpringSecurityAuthenticator implements Authenticator {
    private final AuthenticationTrustResolver trust = new AuthenticationTrustResolverImpl();

    /** Stands on the strategy that {@link SecurityContextHolder} has when a request comes. */
    public SpringSecurityAuthenticator() {}

    @Override
    public Answer authenticate(HttpServletRequest request) {
        Authentication user = SecurityContextHolder.getContext().getAuthentication();
        return trust.isAuthenticated(user) ? new Known(user.getName()) : SERVLET.authenticate(request);
    }
}

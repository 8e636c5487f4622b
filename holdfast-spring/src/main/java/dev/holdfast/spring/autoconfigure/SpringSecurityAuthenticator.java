package dev.holdfast.spring.autoconfigure;

import dev.holdfast.servlet.Authenticator;
import jakarta.servlet.http.HttpServletRequest;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.security.authentication.AuthenticationTrustResolver;
import org.springframework.security.authentication.AuthenticationTrustResolverImpl;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.context.SecurityContextHolder;

/**
 * The caller is the user whom Spring Security has authenticated, by name; otherwise the one whom the servlet container knows. All
 * users without a name count as one caller, whose name is empty. Whether an unknown caller is served is decided by the application's
 * filter chain.
 */
public final class SpringSecurityAuthenticator implements Authenticator {
    private static final Logger logger = LoggerFactory.getLogger(SpringSecurityAuthenticator.class);

    private final AtomicBoolean namelessTold = new AtomicBoolean();
    private final AuthenticationTrustResolver trust = new AuthenticationTrustResolverImpl();

    /** Asks the strategy that {@link SecurityContextHolder} has when a request arrives. */
    public SpringSecurityAuthenticator() {}

    @Override
    public Answer authenticate(HttpServletRequest request) {
        Authentication user = SecurityContextHolder.getContext().getAuthentication();
        return trust.isAuthenticated(user) ? new Known(name(user)) : SERVLET.authenticate(request);
    }

    /** A token may have no subject; Spring AI's transport serves its bearer, too. */
    private String name(Authentication user) {
        @Nullable String name = user.getName();
        if (name != null && !name.isEmpty()) {
            return name;
        }
        if (namelessTold.compareAndSet(false, true)) {
            logger.warn(
                    "Spring Security has authenticated somebody without a name: all such callers share their sessions and their limits."
                            + " For a JWT, setPrincipalClaimName of JwtAuthenticationConverter names a claim that each token has");
        }
        return "";
    }
}

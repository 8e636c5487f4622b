package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.Authenticator.Known;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.security.authentication.AbstractAuthenticationToken;
import org.springframework.security.core.context.SecurityContextHolder;

class SpringSecurityAuthenticatorTest {
    /** As of a JWT that has no subject. */
    private static final class Token extends AbstractAuthenticationToken {
        private final transient @Nullable String subject;

        Token(@Nullable String subject) {
            super(List.of());
            this.subject = subject;
            setAuthenticated(true);
        }

        @Override
        public @Nullable Object getCredentials() {
            return null;
        }

        @Override
        public @Nullable Object getPrincipal() {
            return subject;
        }

        @Override
        @SuppressWarnings("NullAway") // as Spring Security's own do
        public String getName() {
            return subject;
        }
    }

    @AfterEach
    void leave() {
        SecurityContextHolder.clearContext();
    }

    private static Object known(@Nullable String subject) {
        SecurityContextHolder.getContext().setAuthentication(new Token(subject));
        return new SpringSecurityAuthenticator().authenticate(new MockHttpServletRequest());
    }

    @Test
    void whoIsAuthenticatedIsKnownByName() {
        assertThat(known("ann")).isEqualTo(new Known("ann"));
    }

    @Test
    void whoHasNoNameIsServedAllTheSame() {
        assertThat(known(null)).isEqualTo(new Known(""));
        assertThat(known("")).isEqualTo(new Known(""));
    }
}

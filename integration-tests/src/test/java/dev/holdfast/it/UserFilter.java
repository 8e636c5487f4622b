package dev.holdfast.it;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.IOException;
import java.security.Principal;
import org.jspecify.annotations.Nullable;

/** Takes a caller for whom the header {@code X-User} names. */
final class UserFilter implements Filter {
    static final String USER = "X-User";

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        chain.doFilter(new Known((HttpServletRequest) request), response);
    }

    private static final class Known extends HttpServletRequestWrapper {
        private Known(HttpServletRequest request) {
            super(request);
        }

        @Override
        public @Nullable Principal getUserPrincipal() {
            String name = getHeader(USER);
            return name == null ? null : () -> name;
        }
    }
}

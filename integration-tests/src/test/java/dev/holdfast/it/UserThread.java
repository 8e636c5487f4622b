package dev.holdfast.it;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Keeps what the header {@code X-User} says in a thread-local for as long as the request's thread is with the servlet. */
final class UserThread implements Filter {
    static final String USER = "X-User";

    private static final ThreadLocal<Optional<String>> CURRENT = ThreadLocal.withInitial(Optional::empty);

    /** The user of the request whose thread this is. */
    static String user() {
        return CURRENT.get()
                .orElseGet(() -> "nobody on " + Thread.currentThread().getName());
    }

    /** The user of this thread, null for nobody, for who takes it to another thread. */
    static @Nullable String current() {
        return CURRENT.get().orElse(null);
    }

    /** This thread works for a user now. */
    static void become(String user) {
        CURRENT.set(Optional.of(user));
    }

    /** This thread works for nobody. */
    static void leave() {
        CURRENT.remove();
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        CURRENT.set(Optional.ofNullable(((HttpServletRequest) request).getHeader(USER)));
        try {
            chain.doFilter(request, response);
        } finally {
            CURRENT.remove();
        }
    }
}

package dev.holdfast.spring.autoconfigure;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import org.springframework.web.filter.ServerHttpObservationFilter;
import org.springframework.web.filter.ShallowEtagHeaderFilter;

/** Tells Spring's filters what they would hear from Spring MVC. */
final class SpringFilters {
    private SpringFilters() {}

    static void tell(HttpServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        // what is written after the request's thread has returned would stay in the buffer of this filter
        ShallowEtagHeaderFilter.disableContentCaching(request);
        ServerHttpObservationFilter.findObservationContext(request)
                .ifPresent(observed ->
                        observed.setPathPattern(request.getHttpServletMapping().getPattern()));
        chain.doFilter(request, response);
    }
}

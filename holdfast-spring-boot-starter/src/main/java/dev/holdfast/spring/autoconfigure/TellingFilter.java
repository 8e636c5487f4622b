package dev.holdfast.spring.autoconfigure;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import org.springframework.web.filter.ServerHttpObservationFilter;
import org.springframework.web.filter.ShallowEtagHeaderFilter;

/** Tells Spring's filters before it what they would hear from Spring MVC. */
final class TellingFilter implements Filter {
    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        // what is written after the request's thread has returned would stay in the buffer of this filter
        ShallowEtagHeaderFilter.disableContentCaching(request);
        if (request instanceof HttpServletRequest http) {
            ServerHttpObservationFilter.findObservationContext(http)
                    .ifPresent(observed ->
                            observed.setPathPattern(http.getHttpServletMapping().getPattern()));
        }
        chain.doFilter(request, response);
    }
}

package dev.holdfast.spring.autoconfigure;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import java.io.IOException;
import org.springframework.web.filter.ShallowEtagHeaderFilter;

/** Tells Spring's filters before it what they would hear from Spring MVC. */
final class TellingFilter implements Filter {
    /** What is written after the request's thread has returned would stay in the buffer of the filter that makes ETags. */
    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        ShallowEtagHeaderFilter.disableContentCaching(request);
        chain.doFilter(request, response);
    }
}

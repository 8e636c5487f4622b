package dev.holdfast.spring.autoconfigure;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.Optional;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;

/**
 * A filter for the requests of one servlet. It is mapped to that servlet only; {@code MockMvc} knows no such mapping, and has it meet
 * every request.
 */
final class ServletFilter implements Filter {
    private final String servlet;
    private final ForHttp filter;

    /** What is done with those requests. */
    @FunctionalInterface
    interface ForHttp {
        void filter(HttpServletRequest request, ServletResponse response, FilterChain chain)
                throws IOException, ServletException;
    }

    private ServletFilter(String servlet, ForHttp filter) {
        this.servlet = servlet;
        this.filter = filter;
    }

    /**
     * Maps one to a servlet and not to a path, so that it comes after all filters that have a path.
     *
     * @param servlet where there is none, it is not registered
     */
    static FilterRegistrationBean<ServletFilter> before(
            Optional<ServletRegistrationBean<?>> servlet, String name, ForHttp filter) {
        String onServlet = servlet.map(ServletRegistrationBean::getServletName).orElse("");
        FilterRegistrationBean<ServletFilter> registration =
                new FilterRegistrationBean<>(new ServletFilter(onServlet, filter));
        servlet.ifPresent(registration::addServletRegistrationBeans);
        registration.setEnabled(servlet.isPresent());
        registration.setName(name);
        return registration;
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        if (request instanceof HttpServletRequest http
                && http.getHttpServletMapping().getServletName().equals(servlet)) {
            filter.filter(http, response, chain);
        } else {
            chain.doFilter(request, response);
        }
    }
}

package dev.holdfast.spring.autoconfigure;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;

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

    /**
     * @param servlet the name of the servlet
     */
    ServletFilter(String servlet, ForHttp filter) {
        this.servlet = servlet;
        this.filter = filter;
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

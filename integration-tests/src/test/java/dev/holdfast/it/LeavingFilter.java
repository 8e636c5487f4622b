package dev.holdfast.it;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.RejectedExecutionException;

/**
 * Has a container behave towards requests with a certain header as if their clients had left once they are asynchronous, or as
 * if it had no thread for them.
 */
final class LeavingFilter implements Filter {
    private final String header;
    private final RuntimeException fault;

    LeavingFilter(String header, RuntimeException fault) {
        this.header = header;
        this.fault = fault;
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        boolean leaves = ((HttpServletRequest) request).getHeader(header) != null;
        chain.doFilter(leaves ? new Leaving((HttpServletRequest) request) : request, response);
    }

    private final class Leaving extends HttpServletRequestWrapper {
        private Leaving(HttpServletRequest request) {
            super(request);
        }

        @Override
        public AsyncContext getAsyncContext() {
            if (!(fault instanceof RejectedExecutionException)) {
                throw fault;
            }
            AsyncContext context = super.getAsyncContext();
            return (AsyncContext) Proxy.newProxyInstance(
                    AsyncContext.class.getClassLoader(), new Class<?>[] {AsyncContext.class}, (proxy, method, args) -> {
                        if (method.getName().equals("start")) {
                            throw fault;
                        }
                        try {
                            return method.invoke(context, args);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
        }
    }
}

package dev.holdfast.it;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
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
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Watches how often each request is completed that has become asynchronous: how often that is asked for and not refused, and how
 * often the container does so. A request whose answer is complete when its thread returns does not become asynchronous.
 */
final class CompletionCounter implements Filter {
    private final List<Tally> tallies = new CopyOnWriteArrayList<>();

    /** The counts of one request. */
    record Tally(String request, AtomicInteger asked, AtomicInteger done) {
        @Override
        public String toString() {
            return request + ": complete() " + asked + " times, onComplete " + done + " times";
        }
    }

    /** Every request so far. */
    List<Tally> tallies() {
        return List.copyOf(tallies);
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        chain.doFilter(new Watched((HttpServletRequest) request), response);
    }

    /** A request whose asynchronous context is watched. */
    private final class Watched extends HttpServletRequestWrapper {
        private final Tally tally =
                new Tally(getMethod() + " " + getHeader("Last-Event-ID"), new AtomicInteger(), new AtomicInteger());

        Watched(HttpServletRequest request) {
            super(request);
            tallies.add(tally);
        }

        @Override
        public AsyncContext startAsync() {
            return started(super.startAsync());
        }

        @Override
        public AsyncContext startAsync(ServletRequest request, ServletResponse response) {
            return started(super.startAsync(request, response));
        }

        @Override
        public AsyncContext getAsyncContext() {
            return watched(super.getAsyncContext());
        }

        private AsyncContext started(AsyncContext context) {
            context.addListener(new Listener(tally));
            return watched(context);
        }

        private AsyncContext watched(AsyncContext context) {
            return (AsyncContext) Proxy.newProxyInstance(
                    AsyncContext.class.getClassLoader(), new Class<?>[] {AsyncContext.class}, (proxy, method, args) -> {
                        try {
                            Object result = method.invoke(context, args);
                            // while Tomcat reports a failure, it refuses this to other threads
                            if (method.getName().equals("complete")) {
                                tally.asked.incrementAndGet();
                            }
                            return result;
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
        }
    }

    /** Counts what the container reports. */
    private record Listener(Tally tally) implements AsyncListener {
        @Override
        public void onComplete(AsyncEvent event) {
            tally.done.incrementAndGet();
        }

        @Override
        public void onTimeout(AsyncEvent event) {}

        @Override
        public void onError(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {}
    }
}

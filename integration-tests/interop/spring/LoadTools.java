package com.example.weather;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.ai.mcp.annotation.McpTool.McpAnnotations;
import org.springframework.ai.mcp.annotation.context.McpSyncRequestContext;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Tools for the load of the restarts. Each says in the log whether it finds what belongs to its request on its thread, in Spring's
 * thread-local and in that of a filter.
 */
@Service
public class LoadTools {
    private static final ThreadLocal<String> SESSION = new ThreadLocal<>();

    /** Notes the session of each request while it is on its thread. */
    @Component
    static class SessionFilter extends OncePerRequestFilter {
        @Override
        protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws ServletException, IOException {
            String session = request.getHeader("Mcp-Session-Id");
            if (session == null) {
                chain.doFilter(request, response);
                return;
            }
            SESSION.set(session);
            try {
                chain.doFilter(request, response);
            } finally {
                SESSION.remove();
            }
        }
    }

    @McpTool(name = "slow", description = "Takes its time")
    public String slow(McpSyncRequestContext context, int ms, int steps) throws InterruptedException {
        return takeTime(context, ms, steps);
    }

    @McpTool(
            name = "slow_read",
            description = "Takes its time",
            annotations = @McpAnnotations(readOnlyHint = true, idempotentHint = true, destructiveHint = false))
    public String slowRead(McpSyncRequestContext context, int ms, int steps) throws InterruptedException {
        return takeTime(context, ms, steps);
    }

    private static String takeTime(McpSyncRequestContext context, int ms, int steps) throws InterruptedException {
        String call = ms + " ms in " + steps + " steps";
        say("slow: " + call);
        for (int step = 1; step <= steps; step++) {
            TimeUnit.MICROSECONDS.sleep(1_000L * ms / steps);
            double done = step;
            context.progress(progress -> progress.progress(done).total(steps));
        }
        return call;
    }

    @McpTool(name = "notify", description = "Sends notifications")
    public String notify(McpSyncRequestContext context, int count, String tag) {
        say("notify");
        for (int i = 1; i <= count; i++) {
            context.info(tag + "#" + i);
        }
        return "sent=" + count;
    }

    @McpTool(
            name = "echo",
            description = "Answers what it is given",
            annotations = @McpAnnotations(readOnlyHint = true, idempotentHint = true, destructiveHint = false))
    public String echo(String text) {
        say("echo");
        return text;
    }

    private static void say(String what) {
        String session = SESSION.get();
        boolean ours = RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes current
                && current.getRequest().getHeader("Mcp-Session-Id").equals(session);
        System.out.println("handler " + (ours ? "on the thread of its request" : "astray") + ": " + what);
    }
}

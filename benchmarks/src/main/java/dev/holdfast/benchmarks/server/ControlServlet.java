package dev.holdfast.benchmarks.server;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** What a benchmark asks of a server beside MCP: its figures, sessions without a transport, and broadcasts. */
final class ControlServlet extends HttpServlet {
    private static final int COLLECTIONS = 3;

    private final transient Contender contender;
    private final transient ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "broadcast");
        thread.setDaemon(true);
        return thread;
    });

    ControlServlet(Contender contender) {
        this.contender = contender;
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        switch (request.getPathInfo()) {
            case "/engine" -> {
                response.getWriter().write(contender.engine());
                return;
            }
            case "/calls" -> {
                response.getWriter()
                        .write(Long.toString(calls(number(request, "sessions"), number(request, "millis"))));
                return;
            }
            case "/stats" -> {}
            case "/collect" -> collect();
            case "/open" -> contender.sessions().orElseThrow().open(number(request, "count"));
            case "/fill" -> contender.template().orElseThrow().write(number(request, "from"), number(request, "count"));
            case "/tell" -> tell("x".repeat(number(request, "bytes")));
            case "/broadcast" ->
                broadcast(number(request, "count"), number(request, "bytes"), number(request, "millis"));
            default -> response.setStatus(HttpServletResponse.SC_NOT_FOUND);
        }
        response.getWriter().write(Stats.now().line());
    }

    private long calls(int count, int millis) {
        try {
            return contender.sessions().orElseThrow().call(count, millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException("ended while calling", e);
        }
    }

    /** Several times, since what a finalizer or a reference queue holds goes only with the next one. */
    private static void collect() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
    }

    /** Sends a message every so often; each carries the time at which its round began. */
    private void broadcast(int count, int bytes, int millis) {
        round(count, "x".repeat(bytes), TimeUnit.MILLISECONDS.toNanos(millis), System.nanoTime());
    }

    private void round(int left, String padding, long period, long due) {
        if (left == 0) {
            return;
        }
        Future<?> unused = clock.schedule(
                () -> {
                    tell(padding);
                    round(left - 1, padding, period, due + period);
                },
                due - System.nanoTime(),
                TimeUnit.NANOSECONDS);
    }

    /** Sends a message that carries the time, to all clients. */
    private void tell(String padding) {
        contender.broadcast(Map.of("at", Long.toString(System.nanoTime()), "padding", padding));
    }

    private static int number(HttpServletRequest request, String name) {
        return Integer.parseInt(request.getParameter(name));
    }
}

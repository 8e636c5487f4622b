package dev.holdfast.gateway;

import dev.holdfast.gateway.http.Reopening;
import dev.holdfast.gateway.http.StatusPages;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.servlet.console.Console;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The servers of a gateway, by their names: brings up, changes and ends each as it is asked for, whatever becomes of the others. Safe for
 * use by any thread.
 */
final class Services {
    private static final Logger log = LoggerFactory.getLogger(Services.class);

    private final Service.Node node;
    private final WebServer web;
    private final Function<ServeOptions, StatusPages.Guard> guard;
    private final Executor threads = Executors.newCachedThreadPool(DaemonThreads.numbered("holdfast-server-"));
    private final Map<String, Slot> slots = new ConcurrentHashMap<>();
    private boolean ended;

    /**
     * None yet.
     *
     * @param guard shows why a server is not served to those whom it would serve
     */
    Services(Service.Node node, WebServer web, Function<ServeOptions, StatusPages.Guard> guard) {
        this.node = node;
        this.web = web;
        this.guard = guard;
    }

    /**
     * Serves these from now on, and no others.
     *
     * @return completes when all is done, those that end have ended, and those that cannot be served are told in the log
     */
    synchronized CompletableFuture<Void> serve(Map<String, ServeOptions> servers) {
        if (ended) {
            return CompletableFuture.completedFuture(null);
        }
        slots.values().removeIf(Slot::over);
        servers.keySet().forEach(name -> slots.computeIfAbsent(name, Slot::new));
        return CompletableFuture.allOf(slots.entrySet().stream()
                .map(slot -> slot.getValue().want(Optional.ofNullable(servers.get(slot.getKey()))))
                .toArray(CompletableFuture<?>[]::new));
    }

    /** Tries those again that could not be started or changed. */
    synchronized void retry() {
        if (!ended) {
            slots.values().forEach(Slot::retry);
        }
    }

    /** Serves this one, without a name, from now on; fails with a {@link GatewayException} if it cannot be here. */
    Service only(ServeOptions options) {
        Service service = Service.open(options, node);
        web.serve(options.name(), service.endpoint(), options.paths());
        Slot slot = new Slot(options.name());
        slot.service = Optional.of(service);
        slot.wanted = Optional.of(options);
        slots.put(options.name(), slot);
        return service;
    }

    /** Those that are served. */
    List<StatusPages.Server> served() {
        return all().map(Service::status).toList();
    }

    /** The same, for the console. */
    List<Console.Server> shown() {
        return all().map(Service::shown)
                .sorted(Comparator.comparing(Console.Server::name))
                .toList();
    }

    /** Why others are not, or are as they were, by their names; for those whom the gateway serves. */
    Map<String, String> failed() {
        Map<String, String> failed = failures();
        slots.forEach((name, slot) -> failed.computeIfPresent(name, (same, why) -> slot.shown(why)));
        return failed;
    }

    /** The same for those who may know all. */
    Map<String, String> failures() {
        Map<String, String> failures = new HashMap<>();
        slots.forEach((name, slot) -> slot.failure.ifPresent(why -> failures.put(name, why)));
        return failures;
    }

    /** What is asked for at the path where its clients begin. */
    Optional<ServeOptions> at(String path) {
        return slots.values().stream()
                .flatMap(slot -> slot.wanted.stream())
                .filter(options -> options.path().equals(path)
                        || options.httpSse()
                                .filter(sse -> sse.path().equals(path))
                                .isPresent())
                .findFirst();
    }

    private Stream<Service> all() {
        return slots.values().stream().flatMap(slot -> slot.service.stream());
    }

    /**
     * Ends all in order, and serves none any more.
     *
     * @param last is done when their sessions and backends have ended, and before their stores are closed
     */
    void end(Duration timeout, Runnable last) {
        CompletableFuture<?>[] ends;
        synchronized (this) {
            ended = true;
            ends = slots.values().stream().map(slot -> slot.stop(timeout)).toArray(CompletableFuture<?>[]::new);
        }
        try {
            CompletableFuture.allOf(ends).join();
        } finally {
            last.run();
            all().forEach(Service::close);
        }
    }

    /** The place of one name. What is asked for is done in its order, and only if nothing else was asked for meanwhile. */
    private final class Slot {
        private final String name;
        private CompletableFuture<?> last = CompletableFuture.completedFuture(null);
        /** How often something was asked for. */
        private volatile int asked;
        /** What was asked for last. */
        private volatile Optional<ServeOptions> wanted = Optional.empty();

        private volatile Optional<Service> service = Optional.empty();
        private volatile Optional<String> failure = Optional.empty();

        private Slot(String name) {
            this.name = name;
        }

        private synchronized CompletableFuture<?> want(Optional<ServeOptions> options) {
            int number = ++asked;
            wanted = options;
            last = afterLast(() -> {
                try {
                    if (asked == number) {
                        settle(options, number);
                    }
                } catch (GatewayException e) {
                    failed(options, String.valueOf(e.getMessage()));
                } catch (Throwable e) {
                    if (failed(options, "nobody expected " + e)) {
                        log.error("server {}: this is what nobody expected", name, e);
                    }
                }
            });
            return last;
        }

        /** Asks for the same again, if it has failed. */
        private synchronized void retry() {
            if (failure.isPresent() && last.isDone()) {
                want(wanted);
            }
        }

        /** Ends what there is once what was begun is done; nothing else is. */
        private synchronized CompletableFuture<?> stop(Duration timeout) {
            asked++;
            return afterLast(() -> service.ifPresent(
                    now -> now.end(name.isEmpty() ? timeout : now.options().get(Knobs.DRAIN_TIMEOUT))));
        }

        private CompletableFuture<?> afterLast(Runnable task) {
            return last.handle((done, failed) -> done).thenRunAsync(task, threads);
        }

        /** Whether nothing of it is left. */
        private synchronized boolean over() {
            return last.isDone() && service.isEmpty() && failure.isEmpty();
        }

        private void settle(Optional<ServeOptions> options, int number) {
            Optional<Service> now = service;
            if (now.isPresent() && options.filter(now.get().options()::becomes).isPresent()) {
                become(now.get(), options.get());
            } else if (now.isPresent() && options.isPresent()) {
                // what cannot start ends nothing that runs
                now.get().requireSuccessor(options.get());
                reopen(now.get(), options.get(), number);
            } else {
                now.ifPresent(before -> end(before, before.options()));
                if (asked == number) {
                    options.ifPresentOrElse(this::begin, () -> web.remove(name));
                }
            }
            failure = Optional.empty();
        }

        private void reopen(Service now, ServeOptions options, int number) {
            Reopening reopening = new Reopening(now.endpoint(), now.engine());
            web.map(name, reopening, now.options().paths());
            try {
                end(now, options);
                if (asked == number) {
                    begin(options);
                }
            } finally {
                reopening.end();
            }
        }

        private void begin(ServeOptions options) {
            Service begun = Service.open(options, node);
            service = Optional.of(begun);
            web.serve(name, begun.endpoint(), options.paths());
            log.info("server {} is served at {}", name, options.path());
        }

        private void become(Service now, ServeOptions options) {
            ServerChoice before = now.options().server();
            now.become(options);
            if (!options.server().equals(before)) {
                boolean onlyHeaders = options.server() instanceof ServerChoice.Upstream
                        && options.server().identity().equals(before.identity());
                String who = onlyHeaders
                        ? "all sessions that are there send the new headers"
                        : "sessions that begin have the new one";
                log.info("server {} has changed: {}", name, who);
            }
        }

        /** Returns whether it is another failure than before. */
        private boolean failed(Optional<ServeOptions> options, String why) {
            boolean differs = failure.filter(why::equals).isEmpty();
            failure = Optional.of(why);
            if (differs) {
                log.error(
                        "server {} {}: {}; it is tried again every ten seconds",
                        name,
                        service.isPresent() ? "stays as it was" : "is not served",
                        why);
            }
            if (service.isEmpty()) {
                String told = "the server " + name + " did not start: " + shown(why);
                options.ifPresent(
                        next -> web.serve(name, new StatusPages.Unserved(guard.apply(next), told), next.paths()));
            }
            return differs;
        }

        /** A reason for those whom the gateway serves: it may name files and addresses of this machine. */
        private String shown(String why) {
            return node.isLocal()
                            || wanted.filter(options -> options.get(Knobs.SHOW_CHILD_ERRORS))
                                    .isPresent()
                    ? why
                    : "the log of the gateway says why";
        }

        /** Ends it within the time that is asked for by now. */
        private void end(Service now, ServeOptions asked) {
            log.info("server {} ends", name);
            try {
                now.end(asked.get(Knobs.DRAIN_TIMEOUT));
            } finally {
                service = Optional.empty();
                now.close();
            }
        }
    }
}

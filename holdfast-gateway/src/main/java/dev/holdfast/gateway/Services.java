package dev.holdfast.gateway;

import dev.holdfast.gateway.http.StatusPages;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.text.GatewayException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
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
    private final StatusPages.Guard guard;
    private final Executor threads = Executors.newCachedThreadPool(DaemonThreads.numbered("holdfast-server-"));
    private final Map<String, Slot> slots = new ConcurrentHashMap<>();
    private boolean ended;

    /**
     * None yet.
     *
     * @param guard shows why a server is not served to those whom the gateway serves
     */
    Services(Service.Node node, WebServer web, StatusPages.Guard guard) {
        this.node = node;
        this.web = web;
        this.guard = guard;
    }

    /**
     * Serves these from now on, and no others; those that could not be started are tried again.
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

    /** Serves this one, without a name, from now on; fails with a {@link GatewayException} if it cannot be here. */
    Service only(ServeOptions options) {
        Service service = Service.open(options, node);
        web.serve(options.name(), service.endpoint(), options.paths());
        Slot slot = new Slot(options.name());
        slot.service = Optional.of(service);
        slots.put(options.name(), slot);
        return service;
    }

    /** Those that are served. */
    List<StatusPages.Server> served() {
        return all().map(Service::status).toList();
    }

    /** Why others are not, by their names. */
    Map<String, String> failed() {
        Map<String, String> failed = new ConcurrentHashMap<>();
        slots.forEach((name, slot) -> slot.failure.ifPresent(why -> failed.put(name, why)));
        return failed;
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
        private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);
        /** How often something was asked for. */
        private volatile int asked;

        private volatile Optional<Service> service = Optional.empty();
        private volatile Optional<String> failure = Optional.empty();

        private Slot(String name) {
            this.name = name;
        }

        private synchronized CompletableFuture<Void> want(Optional<ServeOptions> options) {
            int number = ++asked;
            last = last.thenRunAsync(
                    () -> {
                        try {
                            if (asked == number) {
                                settle(options);
                            }
                        } catch (RuntimeException e) {
                            log.error("server {}: failed in a way that nobody expected", name, e);
                        }
                    },
                    threads);
            return last;
        }

        /** Ends what there is once what was begun is done; nothing else is. */
        private synchronized CompletableFuture<Void> stop(Duration timeout) {
            asked++;
            return last.thenRunAsync(() -> service.ifPresent(now -> now.end(timeout)), threads);
        }

        /** Whether nothing of it is left. */
        private synchronized boolean over() {
            return last.isDone() && service.isEmpty() && failure.isEmpty();
        }

        private void settle(Optional<ServeOptions> options) {
            Optional<Service> now = service;
            if (now.isPresent() && options.filter(now.get().options()::becomes).isPresent()) {
                become(now.get(), options.get());
                return;
            }
            now.ifPresent(this::end);
            options.ifPresentOrElse(this::begin, () -> {
                failure = Optional.empty();
                web.remove(name);
            });
        }

        private void begin(ServeOptions options) {
            attempt(options, asked -> {
                Service begun = Service.open(asked, node);
                service = Optional.of(begun);
                web.serve(name, begun.endpoint(), asked.paths());
                log.info("server {} is served at {}", name, asked.path());
            });
            failure.ifPresent(why -> web.serve(
                    name,
                    new StatusPages.Unserved(guard, "the server " + name + " did not start: " + why),
                    options.paths()));
        }

        private void become(Service now, ServeOptions options) {
            boolean changes = !now.options().server().equals(options.server());
            attempt(options, now::become);
            if (changes && failure.isEmpty()) {
                log.info("server {} has changed: sessions that begin have the new one", name);
            }
        }

        private void attempt(ServeOptions options, Consumer<ServeOptions> change) {
            try {
                change.accept(options);
                failure = Optional.empty();
            } catch (GatewayException e) {
                failed(String.valueOf(e.getMessage()));
            } catch (RuntimeException e) {
                log.error("server {}: did not start in a way that nobody expected", name, e);
                failed("of a failure that the log tells");
            }
        }

        private void failed(String why) {
            failure = Optional.of(why);
            log.error(
                    "server {} {}: {}; it is tried again when the file changes",
                    name,
                    service.isPresent() ? "stays as it was" : "is not served",
                    why);
        }

        private void end(Service now) {
            log.info("server {} ends", name);
            try {
                now.end(now.options().get(Knobs.DRAIN_TIMEOUT));
            } finally {
                service = Optional.empty();
                now.close();
            }
        }
    }
}

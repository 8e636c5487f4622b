package dev.holdfast.micrometer;

import dev.holdfast.EndReason;
import dev.holdfast.EngineStats;
import dev.holdfast.Refusal;
import dev.holdfast.SessionLifecycleListener.TaskEvent;
import dev.holdfast.SessionState;
import dev.holdfast.WriteStall;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** What an engine holds and counts, as meters. */
final class EngineMeters {
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private record Dated(EngineStats value, long at) {}

    private final MeterRegistry registry;
    private final Supplier<EngineStats> source;
    private final List<Meter> registered = new ArrayList<>();
    private volatile @Nullable Dated last;

    /** Registers them. */
    EngineMeters(MeterRegistry registry, Supplier<EngineStats> stats) {
        this.registry = registry;
        this.source = stats;
        held();
        sessions();
        reading();
    }

    void remove() {
        registered.forEach(registry::remove);
    }

    private void held() {
        String byState = "Sessions by state; those that are parked wait in the store";
        for (SessionState state : SessionState.values()) {
            if (state != SessionState.CLOSED) {
                gauge("holdfast.sessions", byState, s -> s.states().getOrDefault(state, 0), "state", Tags.of(state));
            }
        }
        gauge("holdfast.sessions", byState, EngineStats::parked, "state", "parked");
        gauge(
                "holdfast.carriers",
                "Those of the sessions that carry requests of a revision without sessions",
                EngineStats::carriers);
        gauge("holdfast.connections", "Connections that read a stream", EngineStats::connections);
        gauge(
                "holdfast.calls.running",
                "Requests that run; those of a batch count one by one",
                EngineStats::runningCalls);
        gauge("holdfast.history.bytes", "Bytes of messages that are kept for clients", EngineStats::historyBytes);
        gauge("holdfast.history.messages", "Messages that are kept for clients", EngineStats::historyEvents);
    }

    private void sessions() {
        counter("holdfast.sessions.opened", "Sessions that were opened", EngineStats::created);
        counter("holdfast.sessions.restored", "Sessions that got a fresh backend", EngineStats::restored);
        for (EndReason reason : EndReason.values()) {
            counter(
                    "holdfast.sessions.ended",
                    "Sessions that ended",
                    s -> s.ended().getOrDefault(reason, 0L),
                    "reason",
                    Tags.of(reason),
                    "code",
                    Integer.toString(reason.code()));
        }
        counter("holdfast.calls.timeouts", "Calls that ran longer than they may", EngineStats::timedOut);
    }

    private void reading() {
        String byGet = "Connections by GET: to the listening stream, or back to a stream with an event id";
        counter("holdfast.streams.attached", byGet, EngineStats::listened, "how", "listened");
        counter("holdfast.streams.attached", byGet, EngineStats::resumed, "how", "resumed");
        counter(
                "holdfast.streams.superseded",
                "Connections that a newer one of the same stream has replaced",
                EngineStats::superseded);
        counter(
                "holdfast.messages.replayed",
                "Messages that waited for a client when it came to read",
                EngineStats::replayed);
        counter(
                "holdfast.messages.dropped",
                "Messages that were dropped because a limit asked for it",
                EngineStats::dropped);
        counter(
                "holdfast.messages.unsolicited",
                "Messages that were not sent, since no running call had asked for them",
                EngineStats::unsolicited);
        counter(
                "holdfast.gaps",
                "How often a client missed messages, or may have missed some that the store lost",
                EngineStats::gaps);
        counters(
                "holdfast.write.stalls",
                "How often the peer of a connection took no bytes, and how often that ended the connection",
                EngineStats::writeStalls,
                "outcome",
                WriteStall.values());
        counters(
                "holdfast.tasks",
                "What happened to calls of a revision without sessions whose clients may come back for them",
                EngineStats::tasks,
                "event",
                TaskEvent.values());
        for (Refusal reason : Refusal.values()) {
            counter(
                    "holdfast.refusals",
                    "What clients asked for and did not get",
                    s -> s.refused().getOrDefault(reason, 0L),
                    "reason",
                    Tags.of(reason),
                    "code",
                    Integer.toString(reason.code()));
        }
    }

    /** Registers a gauge that keeps these meters from being collected: counters do not. */
    private void gauge(String name, String description, ToDoubleFunction<EngineStats> value, String... tags) {
        registered.add(Gauge.builder(name, this, meters -> value.applyAsDouble(meters.stats()))
                .strongReference(true)
                .description(description)
                .baseUnit(name.endsWith(".bytes") ? "bytes" : null)
                .tags(tags)
                .register(registry));
    }

    /** Registers a counter for each of these, with a tag that says which. */
    private <E extends Enum<E>> void counters(
            String name, String description, Function<EngineStats, Map<E, Long>> counts, String tag, E[] each) {
        for (E one : each) {
            counter(name, description, s -> counts.apply(s).getOrDefault(one, 0L), tag, Tags.of(one));
        }
    }

    private void counter(String name, String description, ToDoubleFunction<EngineStats> value, String... tags) {
        registered.add(FunctionCounter.builder(name, this, meters -> value.applyAsDouble(meters.stats()))
                .description(description)
                .tags(tags)
                .register(registry));
    }

    /** Asked for again only when it is a tenth of a second old: a scrape reads many meters. */
    private EngineStats stats() {
        Dated known = last;
        long now = System.nanoTime();
        if (known == null || now - known.at >= FRESH_NANOS) {
            known = new Dated(source.get(), now);
            last = known;
        }
        return known.value;
    }
}

package dev.holdfast.micrometer;

import dev.holdfast.EndReason;
import dev.holdfast.EngineStats;
import dev.holdfast.Refusal;
import dev.holdfast.SessionState;
import dev.holdfast.WriteStall;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** What an engine holds and counts, as meters. */
final class EngineMeters {
    private final MeterRegistry registry;
    private final Supplier<EngineStats> stats;
    private final List<Meter> registered = new ArrayList<>();

    /** Registers them. */
    EngineMeters(MeterRegistry registry, Supplier<EngineStats> stats, LongSupplier clock) {
        this.registry = registry;
        this.stats = new Recent<>(stats, clock);
        held();
        sessions();
        reading();
        refusals();
    }

    void remove() {
        registered.forEach(registry::remove);
    }

    private void held() {
        for (SessionState state : SessionState.values()) {
            if (state != SessionState.CLOSED) {
                registered.add(gauge("holdfast.sessions", s -> s.states().getOrDefault(state, 0))
                        .description("Sessions by state; those that are parked wait in the store")
                        .tag("state", Tags.of(state))
                        .register(registry));
            }
        }
        registered.add(gauge("holdfast.sessions", EngineStats::parked)
                .description("Sessions by state; those that are parked wait in the store")
                .tag("state", "parked")
                .register(registry));
        registered.add(gauge("holdfast.connections", EngineStats::connections)
                .description("Connections that read a stream")
                .register(registry));
        registered.add(gauge("holdfast.calls.running", EngineStats::runningCalls)
                .description("Requests that run; those of a batch count one by one")
                .register(registry));
        registered.add(gauge("holdfast.history.bytes", EngineStats::historyBytes)
                .baseUnit("bytes")
                .description("Bytes of messages that are kept for clients")
                .register(registry));
        registered.add(gauge("holdfast.history.messages", EngineStats::historyEvents)
                .description("Messages that are kept for clients")
                .register(registry));
    }

    private void sessions() {
        registered.add(counter("holdfast.sessions.opened", EngineStats::created)
                .description("Sessions that were opened")
                .register(registry));
        registered.add(counter("holdfast.sessions.restored", EngineStats::restored)
                .description("Sessions that got a fresh backend")
                .register(registry));
        for (EndReason reason : EndReason.values()) {
            registered.add(counter("holdfast.sessions.ended", s -> s.ended().getOrDefault(reason, 0L))
                    .description("Sessions that ended")
                    .tag("reason", Tags.of(reason))
                    .tag("code", Integer.toString(reason.code()))
                    .register(registry));
        }
        registered.add(counter("holdfast.calls.timeouts", EngineStats::timedOut)
                .description("Calls that ran longer than they may")
                .register(registry));
    }

    private void reading() {
        registered.add(counter("holdfast.streams.attached", EngineStats::listened)
                .description("Connections by GET: to the listening stream, or back to a stream with an event id")
                .tag("how", "listened")
                .register(registry));
        registered.add(counter("holdfast.streams.attached", EngineStats::resumed)
                .description("Connections by GET: to the listening stream, or back to a stream with an event id")
                .tag("how", "resumed")
                .register(registry));
        registered.add(counter("holdfast.streams.superseded", EngineStats::superseded)
                .description("Connections that a newer one of the same stream has replaced")
                .register(registry));
        registered.add(counter("holdfast.messages.replayed", EngineStats::replayed)
                .description("Messages that waited for a client when it came to read")
                .register(registry));
        registered.add(counter("holdfast.messages.dropped", EngineStats::dropped)
                .description("Messages that were dropped because a limit asked for it")
                .register(registry));
        registered.add(counter("holdfast.messages.unsolicited", EngineStats::unsolicited)
                .description("Messages that were not sent, since no running call had asked for them")
                .register(registry));
        registered.add(counter("holdfast.gaps", EngineStats::gaps)
                .description("How often a client missed messages, or may have missed some that the store lost")
                .register(registry));
        for (WriteStall kind : WriteStall.values()) {
            registered.add(counter("holdfast.write.stalls", s -> s.writeStalls().getOrDefault(kind, 0L))
                    .description(
                            "How often the peer of a connection took no bytes, and how often that ended the connection")
                    .tag("outcome", Tags.of(kind))
                    .register(registry));
        }
    }

    private void refusals() {
        for (Refusal reason : Refusal.values()) {
            registered.add(counter("holdfast.refusals", s -> s.refused().getOrDefault(reason, 0L))
                    .description("What clients asked for and did not get")
                    .tag("reason", Tags.of(reason))
                    .tag("code", Integer.toString(reason.code()))
                    .register(registry));
        }
    }

    /** A gauge that keeps these meters from being collected: counters do not. */
    private Gauge.Builder<EngineMeters> gauge(String name, ToDoubleFunction<EngineStats> value) {
        return Gauge.builder(name, this, meters -> value.applyAsDouble(meters.stats.get()))
                .strongReference(true);
    }

    private FunctionCounter.Builder<EngineMeters> counter(String name, ToDoubleFunction<EngineStats> value) {
        return FunctionCounter.builder(name, this, meters -> value.applyAsDouble(meters.stats.get()));
    }
}

package dev.holdfast.it;

import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelPropagator;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import java.util.Objects;

/** OpenTelemetry behind Micrometer's observations, with an exporter in memory. */
final class Traces implements AutoCloseable {
    private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
    private final SdkTracerProvider provider = SdkTracerProvider.builder()
            .addSpanProcessor(SimpleSpanProcessor.create(exporter))
            .build();
    private final ObservationRegistry registry = ObservationRegistry.create();
    private final OtelTracer tracer = new OtelTracer(provider.get("test"), new OtelCurrentTraceContext(), event -> {});

    Traces() {
        OtelPropagator propagator = new OtelPropagator(
                ContextPropagators.create(W3CTraceContextPropagator.getInstance()), provider.get("test"));
        registry.observationConfig()
                .observationHandler(
                        new io.micrometer.observation.ObservationHandler.FirstMatchingCompositeObservationHandler(
                                new PropagatingReceiverTracingObservationHandler<>(tracer, propagator),
                                new DefaultTracingObservationHandler(tracer)));
    }

    ObservationRegistry registry() {
        return registry;
    }

    /** The trace that is current on this thread. */
    String traceId() {
        return Objects.requireNonNull(tracer.currentSpan()).context().traceId();
    }

    /** The spans that have ended. */
    List<SpanData> spans() {
        return exporter.getFinishedSpanItems();
    }

    @Override
    public void close() {
        provider.close();
    }
}

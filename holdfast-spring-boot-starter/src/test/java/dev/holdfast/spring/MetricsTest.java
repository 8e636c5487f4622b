package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.micrometer.McpCallContext;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.net.http.HttpResponse;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;

/** What an operator of a Spring Boot application sees: meters, and observations of calls. */
@Timeout(120)
class MetricsTest {
    private static ConfigurableApplicationContext application;
    private static int port;

    @SpringBootConfiguration
    @EnableAutoConfiguration
    @Import({AiApplication.Tools.class, AiApplication.Security.class, Observed.class})
    static class Measured {
        @Bean
        Spans spans() {
            return new Spans();
        }
    }

    /** A tool that tells whether an observation of its call is current. */
    @Component
    static class Observed {
        private final ObservationRegistry registry;

        Observed(ObservationRegistry registry) {
            this.registry = registry;
        }

        @McpTool(name = "observed", description = "Tells its observation")
        String observed() {
            Observation current = registry.getCurrentObservation();
            return "within "
                    + (current == null ? "nothing" : current.getContext().getName());
        }
    }

    /** What was observed of calls, as a tracer would see it. */
    static final class Spans implements ObservationHandler<McpCallContext> {
        final List<McpCallContext> stopped = new CopyOnWriteArrayList<>();
        final List<String> events = new CopyOnWriteArrayList<>();

        @Override
        public void onEvent(Observation.Event event, McpCallContext context) {
            events.add(event.getContextualName());
        }

        @Override
        public void onStop(McpCallContext context) {
            stopped.add(context);
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return context instanceof McpCallContext;
        }
    }

    @BeforeAll
    static void start() {
        application = Applications.start(
                Measured.class,
                "--management.endpoints.web.exposure.include=*",
                "--holdfast.connection.heartbeat-interval=200ms");
        port = Applications.port(application);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    /** The value of a meter; 0 if there is none yet. */
    private static double meter(String name, String... tags) throws Exception {
        StringBuilder query = new StringBuilder();
        for (String tag : tags) {
            query.append(query.isEmpty() ? '?' : '&').append("tag=").append(tag);
        }
        HttpResponse<String> page = Wire.page(port, "GET", "/actuator/metrics/" + name + query);
        if (page.statusCode() == 404) {
            return 0;
        }
        assertThat(page.statusCode()).isEqualTo(200);
        return Double.parseDouble(page.body().replaceAll("(?s).*?\"value\":([0-9.E-]+).*", "$1"));
    }

    private static String session(Wire client) throws Exception {
        String body = Wire.page(port, "GET", "/actuator/holdfast").body();
        String shortId = client.session().substring(0, 8);
        return body.replaceAll("(?s).*(\\{\"id\":\"" + shortId + "\"[^}]*}).*", "$1");
    }

    /** The event id with which a stream begins. */
    private static String firstId(HttpResponse<Stream<String>> stream) {
        Iterator<String> lines = stream.body().iterator();
        String line = lines.next();
        while (!line.startsWith("id: ")) {
            line = lines.next();
        }
        return line.substring("id: ".length());
    }

    @Test
    void theNumbersTellOfACutAndOfTheRecovery() throws Exception {
        Wire client = Wire.open(port, "/mcp");
        HttpResponse<Stream<String>> listening = client.listen();
        String id = firstId(listening);
        await().untilAsserted(() ->
                assertThat(session(client)).contains("\"state\":\"ATTACHED\"", "\"streams\":1", "\"runningCalls\":0"));
        assertThat(meter("holdfast.sessions", "state:attached")).isEqualTo(1);
        double resumed = meter("holdfast.streams.attached", "how:resumed");

        listening.body().close();

        await().untilAsserted(() -> assertThat(session(client)).contains("\"state\":\"DETACHED\"", "\"streams\":0"));
        await().untilAsserted(() ->
                assertThat(meter("holdfast.sessions", "state:detached")).isEqualTo(1));

        HttpResponse<Stream<String>> back = client.listen("Last-Event-ID", id);
        firstId(back);

        await().untilAsserted(() -> assertThat(session(client)).contains("\"state\":\"ATTACHED\"", "\"streams\":1"));
        await().untilAsserted(() ->
                assertThat(meter("holdfast.streams.attached", "how:resumed")).isEqualTo(resumed + 1));
        assertThat(Wire.page(port, "GET", "/actuator/metrics/holdfast.gaps").body())
                .contains("\"value\":0.0");
        back.body().close();
    }

    @Test
    void callsAreMeasuredAndStayOnTheWayOfTheMemory() throws Exception {
        double before = meter("holdfast.calls", "method:tools/call", "outcome:answered");
        Wire.open(port, "/mcp").call("greet", "{\"name\":\"you\"}");

        await().untilAsserted(() -> assertThat(meter("holdfast.calls", "method:tools/call", "outcome:answered"))
                .isEqualTo(before + 1));
        await().untilAsserted(() ->
                assertThat(meter("mcp.server.operation.duration", "outcome:ok")).isPositive());
        assertThat(meter("holdfast.store.operations", "operation:create", "outcome:done"))
                .isPositive();
        assertThat(meter("holdfast.store.operations", "operation:append"))
                .as("nobody keeps what is appended, and the meters change nothing about that")
                .isZero();
    }

    @Test
    void metersAndObservationsHavePropertiesByWhichTheyAreLeftOut() throws Exception {
        try (ConfigurableApplicationContext quiet = Applications.start(
                Measured.class,
                "--management.metrics.enable.holdfast=false",
                "--management.observations.enable.mcp=false")) {
            Wire client = Wire.open(Applications.port(quiet), "/mcp");

            assertThat(client.call("greet", "{\"name\":\"you\"}")).contains("hello you");
            assertThat(client.call("observed", "{}")).doesNotContain("mcp.server");
            assertThat(quiet.getBean(MeterRegistry.class).getMeters())
                    .noneMatch(meter -> meter.getId().getName().startsWith("holdfast"));
            assertThat(quiet.getBean(Spans.class).stopped).isEmpty();
        }
    }

    @Test
    void requestsAreCountedUnderTheirPath() throws Exception {
        Wire.open(port, "/mcp").call("greet", "{\"name\":\"you\"}");

        await().untilAsserted(
                        () -> assertThat(Wire.page(port, "GET", "/actuator/metrics/http.server.requests?tag=uri:/mcp")
                                        .body())
                                .contains("\"statistic\":\"COUNT\""));
    }

    @Test
    void aToolRunsWithinTheObservationOfItsCall() throws Exception {
        Spans spans = application.getBean(Spans.class);

        assertThat(Wire.open(port, "/mcp").call("observed", "{}")).contains("within mcp.server.operation.duration");

        await().until(() -> spans.stopped.stream()
                .anyMatch(call -> call.name().filter("observed"::equals).isPresent()));
        assertThat(spans.events).contains("mcp.stream.started");
    }
}

package dev.holdfast.micrometer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.CallWatch;
import dev.holdfast.Session;
import dev.holdfast.json.EnvelopeReader;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Calls of tools are measured by tool, and no client makes a series. */
class CallMetersTest {
    private static final String DONE = "{'content':[],'isError':false}";
    private static final String TOOL_ERROR = "{'content':[],'isError':true}";

    private final MockClock clock = new MockClock();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
    private final CallMeters timers = new CallMeters(registry);

    private static EnvelopeReader.Single read(String json) {
        return (EnvelopeReader.Single)
                new EnvelopeReader().read(json.replace('\'', '"').getBytes(UTF_8));
    }

    private CallWatch started(String method, String params) {
        Session nobody = (Session) Proxy.newProxyInstance(
                Session.class.getClassLoader(), new Class<?>[] {Session.class}, (proxy, asked, arguments) -> {
                    throw new AssertionError(asked);
                });
        String request = "{'jsonrpc':'2.0','id':1,'method':'" + method + "','params':" + params + "}";
        return timers.started(nobody, read(request).message().inbound(this));
    }

    private CallWatch called(String tool) {
        return started("tools/call", "{'name':'" + tool + "'}");
    }

    private static void answer(CallWatch call, String member, String value) {
        call.answered(read("{'jsonrpc':'2.0','id':1,'" + member + "':" + value + "}")
                .message()
                .outbound());
    }

    private void call(String tool, String result) {
        answer(called(tool), "result", result);
    }

    private long count(String tool, String outcome) {
        Timer timer = registry.get("holdfast.tool.calls")
                .tag("tool", tool)
                .tag("outcome", outcome)
                .timer();
        return timer.count();
    }

    private Set<String> tools() {
        Set<String> tools = new TreeSet<>();
        registry.find("holdfast.tool.calls")
                .meters()
                .forEach(meter -> tools.add(meter.getId().getTag("tool")));
        return tools;
    }

    @Test
    void eachOutcomeOfAToolIsCountedWithItsTime() {
        call("weather", DONE);
        CallWatch slow = called("weather");
        clock.add(Duration.ofSeconds(3));
        answer(slow, "result", TOOL_ERROR);
        answer(called("weather"), "error", "{'code':-32602,'message':'no'}");
        called("weather").cancelled();
        called("weather").lost();

        for (String outcome : List.of("answered", "tool-error", "failed", "cancelled", "lost")) {
            assertThat(count("weather", outcome)).as(outcome).isEqualTo(1);
        }
        assertThat(registry.get("holdfast.tool.calls")
                        .tag("tool", "weather")
                        .tag("outcome", "tool-error")
                        .timer()
                        .totalTime(TimeUnit.SECONDS))
                .isEqualTo(3);
        assertThat(registry.get("holdfast.calls")
                        .tag("method", "tools/call")
                        .tag("outcome", "answered")
                        .timer()
                        .count())
                .isEqualTo(2);
    }

    @Test
    void aToolThatAlwaysFailsIsToldIfItsServerHasListedIt() {
        call("broken", TOOL_ERROR);
        assertThat(tools()).containsExactly("other");

        answer(started("tools/list", "{}"), "result", "{'tools':[{'name':'broken'},{'name':'whole'}]}");
        call("broken", TOOL_ERROR);

        assertThat(tools()).containsExactly("broken", "other", "whole");
        assertThat(count("broken", "tool-error")).isEqualTo(1);
        assertThat(count("other", "tool-error")).isEqualTo(1);
    }

    @Test
    void namesThatAClientMakesUpAreOther() {
        for (int i = 0; i < 500; i++) {
            call("made-up-" + i, TOOL_ERROR);
            answer(called("invented-" + i), "error", "{'code':-32602,'message':'Unknown tool'}");
            called("nonsense-" + i).cancelled();
        }
        started("tools/call", "{}").cancelled();
        call("real", DONE);

        assertThat(tools()).containsExactly("other", "real");
        assertThat(count("other", "failed")).isEqualTo(500);
        assertThat(count("other", "cancelled")).isEqualTo(501);
    }

    /** As of a server that answers whatever it is asked. */
    @Test
    void noMoreThanAHundredToolsHaveMetersOfTheirOwn() {
        for (int i = 0; i < 500; i++) {
            call("tool-" + i, DONE);
        }
        call("x".repeat(129), DONE);

        assertThat(tools()).hasSize(101).contains("other", "tool-0", "tool-99");
        assertThat(count("other", "answered")).isEqualTo(401);
        assertThat(registry.find("holdfast.tool.calls").meters()).hasSize(505);
    }

    @Test
    void aNameThatIsTooLongIsOther() {
        call("x".repeat(129), DONE);
        call("x".repeat(128), DONE);

        assertThat(tools()).containsExactly("other", "x".repeat(128));
    }

    @Test
    void aCallThatRunsDoesNotKeepALongNameInMemory() {
        String name = "x".repeat(1 << 20);
        long before = usedMemory();

        List<CallWatch> running =
                IntStream.range(0, 64).mapToObj(i -> called(name)).toList();

        assertThat(usedMemory() - before).isLessThan(16 << 20);
        running.forEach(CallWatch::cancelled);
        assertThat(count("other", "cancelled")).isEqualTo(64);
    }

    private static long usedMemory() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void aCallThatNamesNoToolIsOther() {
        answer(started("tools/call", "{}"), "result", DONE);

        assertThat(tools()).containsExactly("other");
        assertThat(count("other", "answered")).isEqualTo(1);
    }
}

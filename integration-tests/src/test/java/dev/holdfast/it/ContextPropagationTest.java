package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.micrometer.ObservedCalls;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.tck.MemoryStore;
import io.micrometer.context.ContextRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;

/**
 * Handlers of a server that does not execute immediately find the thread-locals of their request where Reactor takes them along
 * ({@code spring.reactor.context-propagation=auto}), as they do on the SDK's own transport.
 */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class ContextPropagationTest {
    private static final String KEY = "user of the request's thread";
    private static final int AT_ONCE = 8;

    private final ContainerKind kind;
    private final ObservationRegistry observations = ObservationRegistry.create();

    ContextPropagationTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void propagate() {
        observations.observationConfig().observationHandler(context -> true);
        ContextRegistry.getInstance()
                .registerThreadLocalAccessor(KEY, UserThread::current, UserThread::become, UserThread::leave);
        Hooks.enableAutomaticContextPropagation();
    }

    @AfterEach
    void propagateNoMore() {
        Hooks.disableAutomaticContextPropagation();
        ContextRegistry.getInstance().removeThreadLocalAccessor(KEY);
    }

    private TestServer.Builder over(SessionStore store) {
        return TestServer.in(kind)
                .filter(new UserThread())
                .options(options -> options.store(store).callListener(new ObservedCalls(observations)));
    }

    private TestServer serverWith(SessionStore store) throws Exception {
        return over(store)
                .syncServer(
                        specification -> specification.toolCall(Tools.definition("who"), (exchange, request) -> user()))
                .start();
    }

    /** The user, and the observation that is current. */
    private CallToolResult user() {
        Observation current = observations.getCurrentObservation();
        return Tools.text(UserThread.user() + " within "
                + (current == null ? "nothing" : current.getContext().getName()));
    }

    private static RawRequest who(RawSession session, String id, String user) {
        return session.post(Json.call(id, "who")).with(UserThread.USER, user);
    }

    private static void assertSeen(RawConnection call, String user) {
        try (call) {
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo(user + " within mcp.server.operation.duration");
        }
    }

    @Test
    void aCallThatStartsAtOnce() throws Exception {
        try (TestServer server = serverWith(new MemoryStore())) {
            RawSession session = RawSession.open(server.port());

            assertSeen(session.stream(who(session, "1", "ada")), "ada");
            assertSeen(session.stream(who(session, "2", "grace")), "grace");
        }
    }

    @Test
    void callsWhoseStartWaitsForTheStore() throws Exception {
        try (SlowStore store = new SlowStore(Duration.ofMillis(50));
                TestServer server = serverWith(store.asStore())) {
            RawSession session = RawSession.open(server.port());
            List<RawConnection> calls = new ArrayList<>();
            for (int i = 0; i < AT_ONCE; i++) {
                calls.add(session.stream(who(session, Integer.toString(i), "user " + i)));
            }
            for (int i = 0; i < AT_ONCE; i++) {
                assertSeen(calls.get(i), "user " + i);
            }
        }
    }

    @Test
    void whatIsToRunLater() throws Exception {
        try (TestServer server = over(new MemoryStore())
                .tool("later", (exchange, request) -> later().map(zero -> UserThread.user()))
                .start()) {
            RawSession session = RawSession.open(server.port());
            RawRequest call = session.post(Json.call("1", "later"));
            try (RawConnection later = session.stream(call.with(UserThread.USER, "ada"))) {
                assertThat(later.message().json().at("/result/content/0/text").asString())
                        .isEqualTo("ada");
            }
        }
    }

    private static Mono<Long> later() {
        return Mono.delay(Duration.ofMillis(10));
    }

    @Test
    void aNotification() throws Exception {
        CompletableFuture<String> seen = new CompletableFuture<>();
        try (TestServer server = over(new MemoryStore())
                .server(specification -> specification.rootsChangeHandler(
                        (exchange, roots) -> later().doOnNext(zero -> seen.complete(UserThread.user()))
                                .then()))
                .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection listening = session.stream(session.get())) {
                String changed = Json.notification("notifications/roots/list_changed", "{}");
                assertThat(session.status(session.post(changed).with(UserThread.USER, "ada")))
                        .isEqualTo(202);
                String question = listening.message().json().at("/id").toString();
                assertThat(session.status(session.post(Json.answer(question, "{\"roots\":[]}"))
                                .with(UserThread.USER, "grace")))
                        .isEqualTo(202);
            }
            assertThat(seen.get(20, TimeUnit.SECONDS)).isEqualTo("ada");
        }
    }
}

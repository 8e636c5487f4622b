package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * A handler that ends with an error which Reactor holds for fatal, and of which it tells nobody who subscribes, is answered like one
 * that fails in another way.
 */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class FatalErrorTest {
    private final ContainerKind kind;
    private final LogCapture log = new LogCapture();

    FatalErrorTest(ContainerKind kind) {
        this.kind = kind;
    }

    /** What a handler runs into. */
    enum Fault {
        MISSING_CLASS {
            @Override
            Error error() {
                return new NoClassDefFoundError("com/example/Secret");
            }
        },
        DEEP_RECURSION {
            @Override
            Error error() {
                return deeper(0);
            }

            private static Error deeper(int depth) {
                return depth < 0 ? new StackOverflowError() : deeper(depth + 1);
            }
        };

        abstract Error error();

        String tool() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    @AfterEach
    void stopListening() {
        log.close();
    }

    private static void assertEnds(TestServer server, String tool) {
        RawSession session = RawSession.open(server.port());
        try (RawConnection call = session.stream(session.post(Json.call("1", tool)))) {
            assertThat(call.message().json().at("/error").toString())
                    .isEqualTo("{\"code\":-32603,\"message\":\"internal error\"}");
            assertThat(call.messages()).isEmpty();
            assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
        }
        session.assertAlive();
        assertThat(server.holdfast().engine().stats().runningCalls()).isZero();
    }

    private void assertLogged(String text) {
        assertThat(log.complaints().stream().map(LogCapture.Line::text))
                .anySatisfy(line -> assertThat(line).contains(text));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ofASynchronousHandler(boolean immediate) throws Exception {
        try (TestServer server = TestServer.in(kind)
                .options(options -> options.immediateExecution(immediate))
                .syncServer(specification -> {
                    specification.immediateExecution(immediate);
                    for (Fault fault : Fault.values()) {
                        specification.toolCall(Tools.definition(fault.tool()), (exchange, request) -> {
                            throw fault.error();
                        });
                    }
                })
                .start()) {
            for (Fault fault : Fault.values()) {
                assertEnds(server, fault.tool());
            }
        }
        assertLogged("tools/call");
    }

    @ParameterizedTest
    @ValueSource(strings = {"at once", "elsewhere", "later"})
    void ofAnAsynchronousHandler(String when) throws Exception {
        Mono<String> failing = Mono.fromCallable(() -> {
            throw Fault.MISSING_CLASS.error();
        });
        Mono<String> handler = switch (when) {
            case "at once" -> failing;
            case "elsewhere" -> failing.subscribeOn(Schedulers.boundedElastic());
            default -> Mono.delay(Duration.ofMillis(10)).then(failing);
        };
        try (TestServer server = TestServer.in(kind)
                .tool("failing", (exchange, request) -> handler)
                .start()) {
            assertEnds(server, "failing");
        }
        assertLogged("tools/call");
    }

    /** Work that a handler leaves behind is not its call any more, and no other call's. */
    @Test
    void ofWhatACallHasLeftBehindEndsNoCall() throws Exception {
        CountDownLatch mayFail = new CountDownLatch(1);
        Mono<String> left = Mono.delay(Duration.ofMillis(10)).map(zero -> {
            assertThat(passed(mayFail)).isTrue();
            throw Fault.MISSING_CLASS.error();
        });
        CompletableFuture<String> gate = new CompletableFuture<>();
        CompletableFuture<Throwable> fallen = new CompletableFuture<>();
        Schedulers.onHandleError("fallen", (thread, error) -> fallen.complete(error));
        try (TestServer server = TestServer.in(kind)
                .tool("starting", (exchange, request) -> {
                    left.subscribe();
                    return Mono.just("started");
                })
                .tool("waiting", (exchange, request) -> Mono.fromFuture(gate, true))
                .start()) {
            RawSession session = RawSession.open(server.port());
            assertAnswered("started", session.stream(session.post(Json.call("1", "starting"))));
            RawConnection waiting = session.stream(session.post(Json.call("2", "waiting")));
            await().until(() -> server.holdfast().engine().stats().runningCalls() == 1);

            mayFail.countDown();
            // told when Reactor is through with it
            assertThat(fallen.get(20, TimeUnit.SECONDS)).isInstanceOf(NoClassDefFoundError.class);
            gate.complete("done");

            assertAnswered("done", waiting);
            session.assertAlive();
        } finally {
            Schedulers.resetOnHandleError("fallen");
        }
        assertThat(log.complaints()).noneMatch(line -> line.text().contains("tools/call"));
    }

    private static boolean passed(CountDownLatch latch) {
        try {
            return latch.await(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return false;
        }
    }

    private static void assertAnswered(String text, RawConnection connection) {
        try (RawConnection call = connection) {
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo(text);
            assertThat(call.messages()).isEmpty();
        }
    }
}

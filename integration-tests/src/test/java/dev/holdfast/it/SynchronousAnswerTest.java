package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** An answer that is there when its handler returns is one response of the request's thread; what is not, is asynchronous. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(100)
@Tag("edge")
class SynchronousAnswerTest {
    private static final int STEPS = 20;
    /** For one try among many on which the machine is not busy. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final String LONG = "x".repeat(64 << 10);

    private final ContainerKind kind;
    private final AtomicInteger asynchronous = new AtomicInteger();
    private final Semaphore seen = new Semaphore(0);
    private final CompletableFuture<String> gate = new CompletableFuture<>();
    private TestServer server;
    private RawSession session;

    SynchronousAnswerTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options -> options.immediateExecution(true))
                .filter(new Counting())
                .tool("later", (exchange, request) -> Mono.fromFuture(gate, true))
                .tool("steps", (exchange, request) -> steps(exchange, request).thenReturn("done"))
                .tool("held", (exchange, request) -> steps(exchange, request).then(Mono.fromSupplier(this::held)))
                .tool(
                        "long-between",
                        (exchange, request) -> steps(exchange, request)
                                .then(exchange.progressNotification(
                                        ProgressNotification.builder(request.progressToken(), STEPS + 1)
                                                .message(LONG)
                                                .build()))
                                .then(Mono.fromSupplier(this::held)))
                .tool("long", (exchange, request) -> Mono.just(LONG))
                .start();
        session = RawSession.open(server.port());
        await().atMost(PATIENCE).until(this::answersAtOnce);
    }

    private static Mono<Void> steps(McpAsyncServerExchange exchange, CallToolRequest request) {
        return Flux.range(1, STEPS)
                .concatMap(step -> Tools.progress(exchange, request, step))
                .then();
    }

    private String held() {
        seen.acquireUninterruptibly();
        return "done";
    }

    /** While the end of its opening is still being noted, a session's first call waits for that. */
    private boolean answersAtOnce() {
        asynchronous.set(0);
        assertThat(session.status(session.post(Json.request("0", "ping", "{}"))))
                .isEqualTo(200);
        return asynchronous.get() == 0;
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    /** Counts the requests that become asynchronous. */
    private final class Counting implements Filter {
        @Override
        public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            chain.doFilter(
                    new HttpServletRequestWrapper((HttpServletRequest) request) {
                        @Override
                        public AsyncContext startAsync(ServletRequest inner, ServletResponse outer) {
                            asynchronous.incrementAndGet();
                            return super.startAsync(inner, outer);
                        }
                    },
                    response);
        }
    }

    /**
     * That its length is known shows that it was not written before it was whole. Where the machine takes some milliseconds for a
     * call, its head is written before, so it may take several.
     */
    @Test
    void aQuickAnswerIsOneResponseAndCanBeResumed() {
        await().atMost(PATIENCE).until(() -> {
            asynchronous.set(0);
            try (RawConnection call = session.send(session.post(Json.echo("1", "warm")))) {
                boolean whole = call.head().header("Content-Length").isPresent();
                assertThat(call.messages()).hasSize(1);
                return whole && asynchronous.get() == 0;
            }
        });
        String priming;
        try (RawConnection call = session.stream(session.post(Json.echo("2", "hello")))) {
            priming = call.frame().orElseThrow().id().orElseThrow();
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("hello");
            assertThat(call.messages()).isEmpty();
        }

        try (RawConnection again = session.stream(session.get(priming))) {
            assertThat(again.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("hello");
        }
    }

    @Test
    void whatAHandlerSendsBeforeItsAnswerIsPartOfIt() {
        await().atMost(PATIENCE).until(() -> {
            asynchronous.set(0);
            try (RawConnection call = session.stream(session.post(Json.callWithProgress("1", "steps")))) {
                assertThat(call.messages()).hasSize(STEPS + 1);
                assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
            }
            return asynchronous.get() == 0;
        });
    }

    /** A chunk is what was written at once: the first message with the head, then all others, where the machine is not busy. */
    @Test
    void whatComesRightBehindAMessageIsWrittenWithTheAnswer() {
        await().atMost(PATIENCE).until(() -> {
            try (RawConnection call = session.stream(session.post(Json.callWithProgress("1", "steps")))) {
                int chunks = 0;
                while (!call.chunk().isEmpty()) {
                    chunks++;
                }
                assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
                return chunks <= 3;
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"held", "long-between"})
    void aHandlerThatStaysOnTheThreadHoldsNoMessageBack(String tool) {
        try (RawConnection call = session.stream(session.post(Json.callWithProgress("1", tool)))) {
            for (int step = 1; step <= STEPS; step++) {
                assertThat(call.message().json().at("/params/progress").asInt()).isEqualTo(step);
            }
            seen.release();
            List<Frame> rest = call.messages();
            assertThat(rest.get(rest.size() - 1)
                            .json()
                            .at("/result/content/0/text")
                            .asString())
                    .isEqualTo("done");
        } finally {
            seen.release();
        }
    }

    @Test
    void theHeadOfALongAnswerIsNoWriteOfItsOwn() {
        await().atMost(PATIENCE).until(() -> {
            try (RawConnection call = session.stream(session.post(Json.call("1", "long")))) {
                boolean together = call.chunk().contains("\"result\"");
                assertThat(call.body()).endsWith("\n\n");
                assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
                return together;
            }
        });
    }

    @Test
    void anAnswerThatComesLaterIsAsynchronous() {
        try (RawConnection call = session.stream(session.post(Json.call("1", "later")))) {
            await().until(() -> asynchronous.get() > 0);
            gate.complete("done");
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
        }
        session.assertAlive();
    }
}

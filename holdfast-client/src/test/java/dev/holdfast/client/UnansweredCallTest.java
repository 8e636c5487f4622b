package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.initialized;
import static dev.holdfast.client.Recorder.progress;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls that a server accepts, whose answer may come on the listening stream. */
@Timeout(60)
class UnansweredCallTest {
    private static final long MOST_MILLIS = 2_000;

    private final Recorder recorder = new Recorder();
    /** What is said to a ping. */
    private volatile ScriptedServer.Act pinged = (request, reply) -> reply.status(202);
    /** Where notifications come. */
    private final CompletableFuture<ScriptedServer.Reply> listening = new CompletableFuture<>();

    private ScriptedServer server;
    private ServerSession session;

    /** A clock on which nothing takes longer than two seconds, in which a busy machine still answers a ping. */
    private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1) {
        @Override
        public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
            return super.schedule(task, Math.min(unit.toMillis(delay), MOST_MILLIS), TimeUnit.MILLISECONDS);
        }
    };

    @BeforeEach
    void open() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .onGet((request, reply) -> {
                    reply.stream().chunk(": here\n\n");
                    listening.complete(reply);
                    reply.gone();
                });
        for (int i = 0; i < 20; i++) {
            server.then((request, reply) -> {
                if (request.body().contains("\"ping\"")) {
                    pinged.on(request, reply);
                } else if (request.body().contains("\"initialize\"")) {
                    reply.json(initializeResult(), "Mcp-Session-Id: s2");
                } else {
                    reply.status(202);
                }
            });
        }
        session = recorder.open(RemoteServer.at(server.uri(), Recorder.HTTP, clock, Runnable::run));
        assertThat(now(session.post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(listening)).isNotNull();
    }

    @AfterEach
    void close() {
        session.close();
        server.close();
        clock.shutdownNow();
    }

    private CompletionStage<Outcome> send(ServerSession.Repeat repeat) {
        CompletionStage<Outcome> sent = session.call(call(1, "t"), repeat, NO_CONTEXT, recorder);
        Eventually.await(() -> asked("tools/call") == 1, () -> "the call");
        return sent;
    }

    private static void assertUnknown(Outcome outcome, boolean sessionGone) {
        assertThat(outcome).isInstanceOfSatisfying(Outcome.Unknown.class, unknown -> {
            assertThat(unknown.reason())
                    .isEqualTo("the server accepted it with status 202, and sent no answer within 30 s");
            assertThat(unknown.sessionGone()).isEqualTo(sessionGone);
        });
    }

    @Test
    void dockerMcpGateway505_aServerThatOnlyAcceptsLosesTheSession() {
        assertUnknown(now(send(NEVER)), true);
        assertThat(asked("tools/call")).isEqualTo(1);
        assertThat(asked("initialize")).isEqualTo(2);
        assertThat(recorder.heard).contains("gone");
        assertThat(session.successor()).isPresent();
    }

    @Test
    void dockerMcpGateway505_aServerThatDoesNotEvenAnswerAPingLosesTheSession() {
        pinged = (request, reply) -> reply.gone();

        assertUnknown(now(send(NEVER)), true);
        assertThat(recorder.heard).contains("gone");
    }

    @Test
    void aServerThatAnswersAPingKeepsTheSession() {
        pinged = Recorder::pong;

        assertUnknown(now(send(NEVER)), false);
        assertThat(asked("initialize")).isEqualTo(1);
        assertThat(recorder.heard).doesNotContain("gone");
    }

    @Test
    void aHarmlessCallIsSentOnceMoreWhereThePingIsAnswered() {
        pinged = Recorder::pong;

        assertUnknown(now(send(HARMLESS)), false);
        assertThat(asked("tools/call")).isEqualTo(2);
    }

    @Test
    void anAnswerOnTheListeningStreamIsWaitedForAsLongAsProgressComes() throws Exception {
        CompletionStage<Outcome> sent = send(NEVER);
        ScriptedServer.Reply stream = now(listening);
        long begun = System.nanoTime();
        for (int i = 0; TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun) < MOST_MILLIS * 2; i++) {
            stream.chunk("data: " + progress("t", i) + "\n\n");
            assertThat(recorder.next()).contains("notifications/progress");
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
        stream.chunk("data: " + answer(1) + "\n\n");

        assertThat(now(sent)).isEqualTo(new Outcome.Done());
        assertThat(asked("ping")).isZero();
    }

    private long asked(String method) {
        return server.requests.stream()
                .filter(request -> request.body().contains("\"" + method + "\""))
                .count();
    }
}

package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.client.Outcome;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import java.net.ConnectException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.publisher.Mono;

/** A message counts as taken whatever its application do: it would come again, to the same end. */
@Timeout(30)
class SdkApplicationTest {
    private static final Envelope READABLE = envelope("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    /** The SDK knows no such one. */
    private static final Envelope UNREADABLE = envelope("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}");

    private final SdkApplication application =
            new SdkApplication(McpJsonDefaults.getMapper(), ClientListener.NONE, "server");
    private final List<JSONRPCMessage> taken = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    private static Envelope envelope(String json) {
        return ((EnvelopeReader.Single) EnvelopeReader.ofServer().read(json.getBytes(UTF_8))).message();
    }

    @BeforeEach
    void takeAll() {
        application.onMessages(message -> message.doOnNext(taken::add));
        application.onFailures(failures::add);
    }

    private void assertTaken(Envelope message) {
        assertThatCode(() -> application.received(message).toCompletableFuture().join())
                .doesNotThrowAnyException();
    }

    @Test
    void aMessageThatCannotBeReadIsToldAndTakenThoughTheHandlerOfExceptionsThrows() {
        application.onFailures(failure -> {
            failures.add(failure);
            throw new IllegalStateException("by the test");
        });

        assertTaken(UNREADABLE);
        assertThat(failures).hasSize(1);
        assertThat(taken).hasSize(1);
    }

    @Test
    void aMessageAtWhichBothHandlersFailIsTaken() {
        application.onMessages(message -> Mono.error(new IllegalArgumentException("not this one")));
        application.onFailures(failure -> {
            throw new IllegalStateException("by the test");
        });

        assertTaken(READABLE);
    }

    @Test
    void aMessageAtWhichItsHandlerThrowsIsToldAndTaken() {
        application.onMessages(message -> {
            throw new IllegalArgumentException("not this one");
        });

        assertTaken(READABLE);
        assertThat(failures).singleElement().isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aMessageThatWasNotSentIsToldWithItsServerAndTheCauseThoughThatSaysNothing() {
        assertThatThrownBy(() -> application
                        .ended(new Outcome.NotSent(new ConnectException()))
                        .block())
                .hasMessage("not sent to server: java.net.ConnectException");
    }
}

package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.HttpStatusException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse.JSONRPCError;
import io.modelcontextprotocol.spec.McpTransportException;
import io.modelcontextprotocol.spec.McpTransportSessionNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * An application on the SDK: its messages as bytes, who takes those of the server, and who hears of failures and of the connection.
 * Messages are taken by nobody until the SDK's client has said by whom. Thread-safe.
 */
final class SdkApplication implements SessionWatch {
    private static final Logger log = LoggerFactory.getLogger(HoldfastClientTransport.class);
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();

    private final McpJsonMapper json;
    private final ClientListener listener;
    private final String server;
    private volatile Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> messages = SdkApplication::notConnected;
    private volatile Consumer<Throwable> failures = failure -> {};

    /**
     * An application that has not connected.
     *
     * @param server what the log calls the server
     */
    SdkApplication(McpJsonMapper json, ClientListener listener, String server) {
        this.json = json;
        this.listener = listener;
        this.server = server;
    }

    void onMessages(Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> handler) {
        messages = handler;
    }

    void onFailures(Consumer<Throwable> handler) {
        failures = handler;
    }

    private static Mono<JSONRPCMessage> notConnected(Mono<JSONRPCMessage> message) {
        return Mono.error(new IllegalStateException("a message came before connect was called"));
    }

    /**
     * Writes a message.
     *
     * @throws McpTransportException if it cannot be written, or is no JSON-RPC then
     */
    Envelope write(JSONRPCMessage message) {
        byte[] bytes;
        try {
            bytes = json.writeValueAsBytes(message);
        } catch (IOException e) {
            throw new McpTransportException("the message cannot be written as JSON", e);
        }
        EnvelopeReader.Parsed parsed = ENVELOPES.read(bytes);
        if (parsed instanceof EnvelopeReader.Single single) {
            return single.message();
        }
        throw new McpTransportException("the message is no JSON-RPC: " + parsed);
    }

    /** Hands a message over; completes when it was handled, also where that has failed. */
    CompletionStage<Void> received(Envelope envelope) {
        return Mono.justOrEmpty(read(envelope))
                .flatMap(message -> messages.apply(Mono.just(message)))
                .doOnError(this::tell)
                .onErrorComplete()
                .then()
                .toFuture();
    }

    /** The message; in the place of an answer that cannot be read an error, for its request would wait until its timeout. */
    private Optional<JSONRPCMessage> read(Envelope envelope) {
        try {
            return Optional.of(McpSchema.deserializeJsonRpcMessage(json, new String(envelope.bytes(), UTF_8)));
        } catch (IOException | RuntimeException e) {
            tell(new McpTransportException("a message of the server cannot be read", e));
            boolean answer = envelope.kind() == Envelope.Kind.RESPONSE || envelope.kind() == Envelope.Kind.ERROR;
            return answer && envelope.id().isPresent() ? envelope.spelledId().map(this::unreadable) : Optional.empty();
        }
    }

    private JSONRPCMessage unreadable(String id) {
        JSONRPCError error =
                new JSONRPCError(McpSchema.ErrorCodes.INTERNAL_ERROR, "the server's answer cannot be read", null);
        try {
            return new JSONRPCResponse(McpSchema.JSONRPC_VERSION, json.readValue(id, Object.class), null, error);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Tells a failure. A handler that fails at it has failed to hear of it, and nothing else. */
    private void tell(Throwable failure) {
        try {
            failures.accept(failure);
        } catch (RuntimeException e) {
            log.error("the handler of exceptions of the connection to {} failed at {}", server, failure.toString(), e);
        }
    }

    /** Completes as the SDK expects it of a message that this has become of; tells a failure. */
    Mono<Void> ended(Outcome outcome) {
        if (outcome instanceof Outcome.Done || outcome instanceof Outcome.Cancelled) {
            return Mono.empty();
        }
        RuntimeException failure = failure(outcome);
        tell(failure);
        return Mono.error(failure);
    }

    private RuntimeException failure(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            return refused(refused);
        }
        if (outcome instanceof Outcome.SessionGone) {
            return new McpTransportSessionNotFoundException("the server does not have the session any more");
        }
        if (outcome instanceof Outcome.NotSent not) {
            return not.cause() instanceof RuntimeException own
                    ? own
                    : new McpTransportException("not sent to " + server + ": " + not.cause(), not.cause());
        }
        if (outcome instanceof Outcome.Unknown lost) {
            return new CallOutcomeUnknownException(
                    "nobody knows whether the server executed the request: " + lost.reason(), lost.cause());
        }
        if (outcome instanceof Outcome.Unreadable unreadable) {
            return new McpTransportException("the answer cannot be read: " + unreadable.reason());
        }
        return SdkDifferences.closed();
    }

    private static RuntimeException refused(Outcome.Refused refused) {
        int status = refused.status();
        if (status == 401 || status == 403) {
            return SdkDifferences.unauthorized(
                    "the server wants credentials: status " + status, refused.request(), status, refused.headers());
        }
        HttpStatusException answer = new HttpStatusException(status, refused.body());
        String aside = refused.headers()
                .firstValue("location")
                .filter(location -> status / 100 == 3)
                .map(location -> ", a redirect to " + location + " that is not followed")
                .orElse("");
        return new McpTransportException("refused by the server: " + answer.getMessage() + aside, answer);
    }

    private void tellListener(Consumer<ClientListener> event) {
        try {
            event.accept(listener);
        } catch (RuntimeException e) {
            log.error("the listener of the connection to {} failed", server, e);
        }
    }

    @Override
    public void reconnecting(Throwable cause) {
        log.info("the connection to {} broke and is brought back: {}", server, cause.toString());
        tellListener(told -> told.onReconnecting(cause));
    }

    @Override
    public void resumed(Duration away) {
        log.info("the connection to {} is back after {} ms", server, away.toMillis());
        tellListener(told -> told.onResumed(away));
    }

    @Override
    public void gap() {
        log.warn("notifications of {} may be missing", server);
        tellListener(ClientListener::onGap);
    }

    @Override
    public void sessionReplaced() {
        log.warn("{} had lost the session; another one has taken its place", server);
        tellListener(ClientListener::onSessionReplaced);
    }

    @Override
    public void failed(Throwable failure) {
        log.warn("the connection to {}: {}", server, failure.toString());
        tell(failure);
    }
}

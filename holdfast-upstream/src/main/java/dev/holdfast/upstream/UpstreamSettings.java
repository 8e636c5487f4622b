package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.Outcome;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a session has set that is replayed in a fresh session at the upstream. A setting that is refused there by an HTTP status is missing
 * from then on, and the session goes on without it; one that was refused for its credentials is sent again with those of later requests.
 * Safe for use by any thread.
 */
final class UpstreamSettings {
    private static final Logger log = LoggerFactory.getLogger(UpstreamSettings.class);
    /** How many credentials are tried for a setting. */
    private static final int MOST_ATTEMPTS = 4;

    private final UpstreamConnection connection;
    private final AtomicInteger ids = new AtomicInteger();
    /** What wants other credentials, by the keys of the journal. */
    private final Map<String, Missing> missing = new LinkedHashMap<>(0);

    /**
     * A setting that was refused for its credentials.
     *
     * @param context the latest that it was sent with
     * @param attempts how often it was sent
     */
    private record Missing(InboundMessage request, Object context, int attempts) {
        private Missing with(Object other) {
            return new Missing(request, other, attempts + 1);
        }
    }

    UpstreamSettings(UpstreamConnection connection) {
        this.connection = connection;
    }

    /**
     * What the engine is told of a setting that was replayed and has no response. Where it may be that the upstream was not reached, that
     * is nothing: the engine tries another session in a while.
     */
    Optional<OutboundMessage> unanswered(InboundMessage request, Object context, Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            refused(new Missing(request, context, 1), refused);
        } else if (outcome instanceof Outcome.Unreadable unreadable) {
            log.warn(
                    "session {}: the upstream has set {} again, but {}",
                    connection.shortId(),
                    key(request),
                    unreadable.reason());
        } else {
            return Optional.empty();
        }
        byte[] done = JsonRpc.result(request.requiredId(), "{}");
        return Optional.of(new OutboundMessage(EventKind.RESPONSE, request.requiredId(), done));
    }

    private void refused(Missing setting, Outcome.Refused refused) {
        boolean credentials = refused.status() == 401 || refused.status() == 403;
        boolean again =
                credentials && setting.context instanceof ForwardedHeaders.Values && setting.attempts < MOST_ATTEMPTS;
        if (again) {
            keep(setting);
        } else {
            over(setting);
        }
        log.warn(
                "session {}: the upstream has refused to set {} again, with HTTP status {}: it goes on without that{}",
                connection.shortId(),
                key(setting.request),
                refused.status(),
                again ? ", until a request brings other headers" : "");
    }

    /** Keeps a setting for other credentials; one that was kept already stays, unless the client has set it itself meanwhile. */
    private synchronized void keep(Missing setting) {
        if (setting.attempts == 1) {
            missing.put(name(setting.request), setting);
        }
    }

    private synchronized void over(Missing setting) {
        missing.remove(name(setting.request), setting);
    }

    /** A request of the client is about to go: it may bring what was missing, or set it itself. */
    void before(InboundMessage request, Object context) {
        for (Missing due : due(request, context)) {
            send(due);
        }
    }

    private synchronized List<Missing> due(InboundMessage request, Object context) {
        if (missing.isEmpty()) {
            return List.of();
        }
        missing.remove(name(request));
        List<Missing> due = missing.values().stream()
                .filter(each -> each.attempts < MOST_ATTEMPTS && !each.context.equals(context))
                .map(each -> each.with(context))
                .toList();
        due.forEach(each -> missing.put(name(each.request), each));
        return due;
    }

    /** Under an id of its own: by now the client may have a call with that of the setting. */
    private void send(Missing setting) {
        Envelope message = UpstreamBackend.ENVELOPES
                .message(setting.request)
                .withId(JsonRpc.stringId("holdfast-setting-" + ids.incrementAndGet()));
        AtomicBoolean failed = new AtomicBoolean();
        connection
                .send(message, Repeat.HARMLESS, setting.context, part -> {
                    boolean answer = part.kind() == Envelope.Kind.RESPONSE || part.kind() == Envelope.Kind.ERROR;
                    failed.compareAndSet(false, part.kind() == Envelope.Kind.ERROR);
                    return answer ? CompletableFuture.completedFuture(null) : connection.message(part);
                })
                .thenAccept(outcome -> {
                    if (outcome instanceof Outcome.Refused refused) {
                        refused(setting, refused);
                        return;
                    }
                    over(setting);
                    UpstreamErrors.text(outcome)
                            .or(() -> failed.get()
                                    ? Optional.of("the upstream answered with an error")
                                    : Optional.empty())
                            .ifPresent(text -> log.warn(
                                    "session {}: {} is not set again: {}",
                                    connection.shortId(),
                                    key(setting.request),
                                    text));
                });
    }

    private static String name(InboundMessage request) {
        JournalChange change = request.journal();
        if (change instanceof JournalChange.Put put) {
            return put.key();
        }
        return change instanceof JournalChange.Remove remove ? remove.key() : "";
    }

    private static String key(InboundMessage request) {
        return LogText.of(name(request).getBytes(UTF_8));
    }
}

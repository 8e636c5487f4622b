package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.RequestId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The requests of the server that the application has not answered. Servers count them from 0, so those of a session that took
 * another one's place get ids of their own: an answer to an old question never reaches a new one. Thread-safe.
 */
final class ServerRequests {
    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    private static final int MOST = 1_000;

    /** Where an id that the application knows comes from. */
    private record Origin(int session, RequestId id) {}

    /** By the id that the application knows. */
    private final Map<RequestId, Origin> open = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<RequestId, Origin> eldest) {
            return size() > MOST;
        }
    };

    /** The message of the server as the application gets it. */
    Envelope toApplication(Envelope message, int session) {
        if (message.kind() == Envelope.Kind.REQUEST) {
            return asked(message, session);
        }
        Optional<RequestId> cancelled = message.cancelledRequest();
        if (message.kind() == Envelope.Kind.NOTIFICATION && cancelled.isPresent()) {
            RequestId known = name(cancelled.get(), session);
            forget(known);
            return session == 0 ? message : message.withCancelledRequest(known);
        }
        return message;
    }

    private Envelope asked(Envelope request, int session) {
        RequestId id = request.id().orElseThrow();
        RequestId known = name(id, session);
        synchronized (this) {
            open.put(known, new Origin(session, id));
        }
        return request.withId(known);
    }

    private static RequestId name(RequestId id, int session) {
        return session == 0 ? id : JsonRpc.stringId("holdfast-" + session + ":" + id.token());
    }

    private synchronized void forget(RequestId known) {
        open.remove(known);
    }

    /** The answer of the application as the server of this session gets it; empty if the question was another one's. */
    synchronized Optional<Envelope> toServer(Envelope answer, int session) {
        Origin origin = answer.id().map(open::get).orElse(null);
        if (origin == null || origin.session() != session) {
            return session == 0 && origin == null ? Optional.of(answer) : Optional.empty();
        }
        return Optional.of(answer.withId(origin.id()));
    }

    void answered(Envelope answer) {
        answer.id().ifPresent(this::forget);
    }

    /** Gives up what sessions before this one have asked; returns the cancellations for the application. */
    synchronized List<Envelope> giveUpBefore(int session) {
        List<RequestId> old = open.entrySet().stream()
                .filter(entry -> entry.getValue().session() < session)
                .map(Map.Entry::getKey)
                .toList();
        open.keySet().removeAll(old);
        return old.stream()
                .map(id -> ENVELOPES.message(JsonRpc.MESSAGES
                        .cancelled(id, "the server has lost the session")
                        .bytes()))
                .toList();
    }
}

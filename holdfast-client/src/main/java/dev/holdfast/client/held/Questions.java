package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The requests of the server that the application has not answered. Servers count them from 0, so those of a session that took
 * another one's place get ids of their own: an answer to an old question never reaches a new one. Thread-safe.
 */
final class Questions {
    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    private static final int MOST = 1_000;

    /** Where an id that the application knows comes from. */
    private record Origin(int session, RequestId id) {}

    private final ReentrantLock lock = new ReentrantLock();
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
            if (session == 0) {
                return message;
            }
            return message.withCancelledRequest(known);
        }
        return message;
    }

    private Envelope asked(Envelope request, int session) {
        RequestId id = request.id().orElseThrow();
        RequestId known = name(id, session);
        lock.lock();
        try {
            open.put(known, new Origin(session, id));
        } finally {
            lock.unlock();
        }
        return request.withId(known);
    }

    private static RequestId name(RequestId id, int session) {
        return session == 0 ? id : JsonRpc.stringId("holdfast-" + session + ":" + id.token());
    }

    private void forget(RequestId known) {
        lock.lock();
        try {
            open.remove(known);
        } finally {
            lock.unlock();
        }
    }

    /** The answer of the application as the server of this session gets it; empty if the question was another one's. */
    Optional<Envelope> toServer(Envelope answer, int session) {
        Optional<RequestId> known = answer.id();
        lock.lock();
        try {
            Origin origin = known.map(open::get).orElse(null);
            if (origin == null || origin.session() != session) {
                return session == 0 && origin == null ? Optional.of(answer) : Optional.empty();
            }
            return Optional.of(answer.withId(origin.id()));
        } finally {
            lock.unlock();
        }
    }

    /** The answer has arrived. */
    void answered(Envelope answer) {
        answer.id().ifPresent(this::forget);
    }

    /** Gives up what sessions before this one have asked; returns the cancellations for the application. */
    List<Envelope> giveUpBefore(int session) {
        List<RequestId> given = new ArrayList<>();
        lock.lock();
        try {
            open.entrySet().removeIf(entry -> {
                boolean old = entry.getValue().session() < session;
                if (old) {
                    given.add(entry.getKey());
                }
                return old;
            });
        } finally {
            lock.unlock();
        }
        return given.stream()
                .map(id -> read(JsonRpc.MESSAGES
                        .cancelled(id, "the server has lost the session")
                        .bytes()))
                .toList();
    }

    private static Envelope read(byte[] bytes) {
        return ENVELOPES.message(bytes);
    }
}

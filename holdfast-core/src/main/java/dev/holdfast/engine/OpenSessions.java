package dev.holdfast.engine;

import dev.holdfast.SessionDescription;
import dev.holdfast.SessionState;
import dev.holdfast.Termination;
import dev.holdfast.session.LiveSession;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/** The sessions in memory, as those see them who watch a server. One session is looked at at a time. */
record OpenSessions(LiveSessions live) {
    Stream<SessionDescription> described() {
        return open().map(LiveSession::described);
    }

    /** How many there are in each state. */
    Map<SessionState, Integer> states() {
        Map<SessionState, Integer> states = new EnumMap<>(SessionState.class);
        for (SessionState state : SessionState.values()) {
            if (state != SessionState.CLOSED) {
                states.put(state, 0);
            }
        }
        live.all().forEach(session -> states.computeIfPresent(session.state(), (state, count) -> count + 1));
        return states;
    }

    /** How many connections read. */
    int connections() {
        return live.all().stream()
                .mapToInt(session -> session.lifecycle().state().readers())
                .sum();
    }

    CompletionStage<Termination> terminate(String shortId) {
        List<LiveSession> named = open().filter(session -> session.shortId().equals(shortId))
                .limit(2)
                .toList();
        return switch (named.size()) {
            case 0 -> CompletableFuture.completedFuture(Termination.UNKNOWN);
            case 1 -> named.get(0).terminate().thenApply(done -> Termination.ENDED);
            default -> CompletableFuture.completedFuture(Termination.AMBIGUOUS);
        };
    }

    private Stream<LiveSession> open() {
        return live.all().stream().filter(session -> session.state() != SessionState.CLOSED);
    }
}

package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The requests of an application that have no outcome yet. Thread-safe. */
final class UnderWay {
    /** Not by their ids: whoever has a response may use its id again before the outcome is told. */
    private final Set<Going> requests = ConcurrentHashMap.newKeySet();

    /** A request is under way from now on. */
    Going begin(Envelope request) {
        Going going = new Going(request);
        requests.add(going);
        return going;
    }

    /** Its outcome is known. */
    void end(Going going) {
        requests.remove(going);
    }

    /** The requests with this id; more than one only where their ids are used too soon. */
    List<Going> of(RequestId id) {
        return requests.stream()
                .filter(going -> going.request().id().equals(Optional.of(id)))
                .toList();
    }
}

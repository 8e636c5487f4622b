package dev.holdfast.session;

import dev.holdfast.log.Step;
import dev.holdfast.spi.BackendConnection;
import java.util.Optional;

/** How those who waited for a session's backend get it: in order, each before the next, and before all who come then. */
final class BackendServing {
    private final SessionCore core;
    private final Incarnations incarnations;
    private final BackendQueue waiting;

    BackendServing(SessionCore core, Incarnations incarnations, BackendQueue waiting) {
        this.core = core;
        this.incarnations = incarnations;
        this.waiting = waiting;
    }

    /** Lets them have it; then it is open to all. */
    void serve(int present, BackendConnection fresh) {
        Optional<BackendUser> next = nextUser(present);
        while (next.isPresent()) {
            next.get().use(fresh);
            next = nextUser(present);
        }
        core.host().makeRoom();
    }

    /**
     * Lets somebody have the backend that has taken the place of an incarnation, or is about to, behind all who wait for it; nothing
     * happens where there is none. Inside a step: those who come so get it in the order of the steps.
     */
    void after(int which, BackendUser user, Step step) {
        if (!incarnations.succeeded(which) || !waiting.add(user, step)) {
            return;
        }
        BackendConnection now = incarnations.connection();
        if (incarnations.state() == BackendState.CONNECTED && now != null) {
            int present = incarnations.latest();
            incarnations.become(BackendState.SERVING);
            step.then(() -> serve(present, now));
        }
    }

    /** Who waits first; when nobody does, the backend is open to all. */
    private Optional<BackendUser> nextUser(int present) {
        return core.step(step -> {
            if (incarnations.state() != BackendState.SERVING || !incarnations.present(present)) {
                return Optional.empty();
            }
            Optional<BackendUser> first = waiting.takeFirst(step);
            if (first.isPresent()) {
                incarnations.serve();
                first.get().handedTo(present, step);
            } else {
                incarnations.become(BackendState.CONNECTED);
            }
            return first;
        });
    }
}

package dev.holdfast;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a change under the session's lock causes outside of it, in order: readers to wake, stages to complete, listeners to
 * tell. One change has one, and runs it after the lock is released. Most changes cause one thing or none.
 */
final class Effects {
    private @Nullable Runnable first;
    private @Nullable List<Runnable> more;

    void add(Runnable effect) {
        if (first == null) {
            first = effect;
        } else {
            if (more == null) {
                more = new ArrayList<>();
            }
            more.add(effect);
        }
    }

    /** Runs them all; each is responsible for its own failures. */
    void run() {
        if (first != null) {
            first.run();
        }
        if (more != null) {
            more.forEach(Runnable::run);
        }
    }
}

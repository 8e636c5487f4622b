package dev.holdfast.log;

import dev.holdfast.NoStore;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SharedSessionStore;

/** Who keeps what is committed to a session's log. */
enum Keeping {
    /** Nobody but this engine: what is taken is committed when the step is over, and no store is asked. */
    MEMORY,
    /** A store that no other node writes to: committed is what it has acknowledged. */
    STORE,
    /** A store that nodes share: it gives the events of the listening stream their offsets too. */
    SHARED_STORE;

    static Keeping by(SessionStore store) {
        if (store instanceof NoStore) {
            return MEMORY;
        }
        return store instanceof SharedSessionStore ? SHARED_STORE : STORE;
    }
}

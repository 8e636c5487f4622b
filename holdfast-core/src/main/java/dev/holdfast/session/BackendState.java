package dev.holdfast.session;

/**
 * Where the backend of a session is.
 *
 * <pre>
 *   NEW --open--> OPENING --accepted--> SERVING --nobody waits--> CONNECTED --lost--> EMPTY
 *                 OPENING --refused--> NEW
 *   NEW --the session is back from the store, another node has initialized it--> EMPTY
 *   EMPTY --use--> RESTORING --replayed--> SERVING
 *                  RESTORING --not reached, lost--> EMPTY, those who waited are refused; if it was begun for nobody, RESTORING for them
 *                  RESTORING --refused--> the session ends
 *   CONNECTED --the one before has accepted something that it lacks--> SERVING
 *   SERVING, OPENING, CONNECTED --lost--> RESTORING if somebody waits, else EMPTY
 *   CONNECTED --released, nobody uses it--> EMPTY
 *   any --close--> CLOSED
 * </pre>
 */
enum BackendState {
    /** There was none yet. */
    NEW,
    /** The client's own {@code initialize} is on its way. */
    OPENING,
    EMPTY,
    RESTORING,
    /** A fresh backend is there, and those who waited for it come first. */
    SERVING,
    CONNECTED,
    CLOSED
}

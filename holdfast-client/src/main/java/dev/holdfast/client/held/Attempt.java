package dev.holdfast.client.held;

import dev.holdfast.client.Outcome;

/** How one attempt to open a session in the place of a lost one has ended. */
sealed interface Attempt {
    /** The session is where the lost one was. */
    record Arrived(Place.At place) implements Attempt {}

    /** The server has lost this session too, before it was there: another may fare better. */
    record LostAgain() implements Attempt {}

    /** The server cannot be reached, or opens no session. */
    record Failed() implements Attempt {}

    /** What a message has come to that was to open it, or to bring it to its place, and has not done so. */
    static Attempt of(Outcome outcome) {
        return outcome.sessionLost() ? new LostAgain() : new Failed();
    }
}

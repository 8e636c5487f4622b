package dev.holdfast.modern;

import dev.holdfast.EventId;
import java.util.Optional;

/**
 * Names a call to a client that has no session: as the id of a task, or as the state of a request that waits for answers. Whoever has it
 * can read the call's result, so that it is a credential, as hard to guess as a session id. The text is {@code
 * <session id>.<event id>.<nonce>}.
 *
 * @param session the id of the session that carries the call
 * @param position up to where the client has been told of the call's stream
 * @param nonce what the stream's note says: many clients may share a session, and count its streams
 */
public record CallHandle(String session, EventId position, String nonce) {
    private static final int PARTS_OF_POSITION = 5;
    private static final int LONGEST = 512;

    /** Reads one; empty if no server of this kind can have written it. */
    public static Optional<CallHandle> parse(String text) {
        int nonce = text.lastIndexOf('.');
        int position = nonce;
        for (int part = 0; part < PARTS_OF_POSITION && position > 0; part++) {
            position = text.lastIndexOf('.', position - 1);
        }
        if (position <= 0 || text.length() > LONGEST) {
            return Optional.empty();
        }
        String session = text.substring(0, position);
        String secret = text.substring(nonce + 1);
        return EventId.parse(text.substring(position + 1, nonce)).map(at -> new CallHandle(session, at, secret));
    }

    @Override
    public String toString() {
        return session + "." + position + "." + nonce;
    }
}

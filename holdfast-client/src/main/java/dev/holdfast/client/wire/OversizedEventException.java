package dev.holdfast.client.wire;

import java.io.IOException;
import java.util.Optional;

/** A message is longer than this client takes. */
public final class OversizedEventException extends IOException {
    private final transient Optional<String> id;

    OversizedEventException(int most, Optional<String> id) {
        super("a message has more than " + most + " bytes");
        this.id = id;
    }

    /** The id of the event, where it came before the data. */
    public Optional<String> id() {
        return id;
    }
}

package dev.holdfast.modern;

import dev.holdfast.spi.Event;
import java.util.Optional;

/** What is told to the client of one request, event by event. For the one thread that writes to it, but for {@link #tick}. */
public interface ModernStream {
    /**
     * A message for the client.
     *
     * @param last whether it is the response
     * @param code the code of the error that it is; else 0
     */
    record Message(byte[] bytes, boolean last, int code) {}

    /**
     * What an event of the stream comes to; empty where it is nothing to the client.
     *
     * @param position how the client may name it
     */
    Optional<Message> take(Event event, String position);

    /** The response that ends it where its stream has none. */
    Message ended(String why);

    /**
     * Looks at the time; for any thread, must not block.
     *
     * @param age how long the request has been there, in nanoseconds
     */
    void tick(long age);
}

package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * One session at one server, however often its connections break. Thread-safe; holds no thread.
 *
 * <p>No method waits: stages complete on the threads of the HTTP client or of its clock, and never with a failure.
 */
public interface ServerSession {
    /** The context of a message that has none. */
    Object NO_CONTEXT = new Object();

    /** Whether a request whose fate is unknown may be sent once more. */
    enum Repeat {
        /** It may: it reads, or does no more harm the second time. */
        HARMLESS,
        /** It must not. */
        NEVER
    }

    /**
     * Sends a request. What comes on its stream goes to the sink, the response last; the sink gets the response before the stage
     * completes.
     *
     * @param context handed to the {@link RequestCustomizer} with each request that is made for this message
     * @param told what was told of its progress by sessions before
     */
    CompletionStage<Outcome> call(Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink);

    /** The same for a request that is in no other session. */
    default CompletionStage<Outcome> call(Envelope request, Repeat repeat, Object context, MessageSink sink) {
        return call(request, repeat, context, new ToldProgress(), sink);
    }

    /** Sends a notification or a response. It may arrive twice. */
    CompletionStage<Outcome> post(Envelope message, Object context);

    /** Opens the stream for what belongs to no request, if it is not open; a session that begins with {@code initialize} does so by itself. */
    void listen(Object context);

    /** The id that the server gave the session; a server without sessions gives none. */
    Optional<String> id();

    /** The session that the server has opened in the place of this one when it was asked whether this is lost; empty where it was not. */
    default Optional<Successor> successor() {
        return Optional.empty();
    }

    /**
     * Ends the session, and tells the server: what is under way ends at once, but for a response that is being taken, whose call ends with
     * that. The stage completes when the server was told, or after 5 s.
     */
    CompletionStage<Void> close();
}

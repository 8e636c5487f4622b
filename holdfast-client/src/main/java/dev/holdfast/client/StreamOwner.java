package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Whose stream an {@link EventStream} is: takes what comes on it, and hears what becomes of it. A class, so that what a session does
 * with its stream is seen in this package only.
 */
abstract class StreamOwner {
    /** Why a stream will not come back. */
    sealed interface Loss {
        /** What was the matter. */
        Throwable cause();

        /** The server does not have the session any more. */
        record SessionGone() implements Loss {
            @Override
            public Throwable cause() {
                return new HttpStatusException(404, new byte[0]);
            }
        }

        /** The stream cannot be resumed: its events had no ids, or the server does not know them any more. */
        record NoCursor(String reason, Throwable cause) implements Loss {}

        /** The server does not give the stream. */
        record Refused(ExchangeEnd.Answer answer, HttpRequest request) implements Loss {
            @Override
            public Throwable cause() {
                return HttpStatusException.of(answer);
            }
        }

        /** The stream of a request has ended in order, and what came on it was no answer. */
        record NoAnswer(String reason, Throwable cause) implements Loss {}

        /** It was tried for as long as the retry policy allows. */
        record GivenUp(Throwable cause) implements Loss {}

        /** The answer is there and cannot be read: it is too long, or no JSON-RPC. */
        record Unreadable(Throwable cause) implements Loss {}
    }

    /** The server answers the POST that has begun it with a stream. */
    void opened(HttpHeaders headers) {}

    /** Takes a message; {@link MessageSink} says what its stage means. */
    abstract CompletionStage<Void> message(Envelope message);

    /** Whether a message is left to the stream of another request, which can be resumed and brings it, too. */
    boolean leaves(Envelope message) {
        return false;
    }

    /** Takes an event that is no message. */
    CompletionStage<Void> other(SseEvent event) {
        return CompletableFuture.completedFuture(null);
    }

    /** Whether everything has come that the stream is for. */
    abstract boolean complete();

    /** Whether the stream is there for the answer to one request, and ends with it. */
    boolean ofOneRequest() {
        return true;
    }

    /** Whether the stream is worth opening again without a cursor. */
    abstract boolean opensAnew();

    /**
     * An answer to this request has come that cannot be read. Returns whether the stream was there for it: nothing better will
     * come.
     */
    abstract boolean unreadable(RequestId request, Throwable why);

    /** Its connection was half-open; others may be too. */
    void silent() {}

    /** The stream came back without its cursor: what was sent meanwhile may be missing. */
    void gap() {}

    /** The stream will not come back. */
    abstract void lost(Loss loss);
}

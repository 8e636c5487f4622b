package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import java.net.http.HttpRequest;

/** Why a stream will not come back. */
sealed interface StreamLoss {
    /** What was the matter. */
    Throwable cause();

    /** The server does not have the session any more. */
    record SessionGone() implements StreamLoss {
        @Override
        public Throwable cause() {
            return new HttpStatusException(404, new byte[0]);
        }
    }

    /** The stream cannot be resumed: its events had no ids, or the server does not know them any more. */
    record NoCursor(String reason, Throwable cause) implements StreamLoss {}

    /** The server does not give the stream. */
    record Refused(ExchangeEnd.Answer answer, HttpRequest request) implements StreamLoss {
        @Override
        public Throwable cause() {
            return new HttpStatusException(answer.status(), answer.body());
        }
    }

    /** The stream of a request has ended in order, and what came on it was no answer. */
    record NoAnswer(String reason, Throwable cause) implements StreamLoss {}

    /** The patience is over. */
    record GivenUp(Throwable cause) implements StreamLoss {}

    /** The answer is there and cannot be read: it is too long, or no JSON-RPC. */
    record Unreadable(Throwable cause) implements StreamLoss {}
}

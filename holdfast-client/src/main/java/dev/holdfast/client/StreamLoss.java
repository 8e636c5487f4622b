package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import java.net.http.HttpRequest;

/** Why a stream will not come back. */
sealed interface StreamLoss {
    /** The server does not have the session any more. */
    record SessionGone() implements StreamLoss {}

    /** The stream cannot be resumed: its events had no ids, or the server does not know them any more. */
    record NoCursor(String reason, Throwable cause) implements StreamLoss {}

    /** The server does not give the stream. */
    record Refused(ExchangeEnd.Answer answer, HttpRequest request) implements StreamLoss {}

    /** The patience is over. */
    record GivenUp(Throwable cause) implements StreamLoss {}

    /** A message is too long. */
    record Oversized(Throwable cause) implements StreamLoss {}
}

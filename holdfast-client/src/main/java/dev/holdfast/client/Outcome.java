package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.io.IOException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.Set;

/** What became of a message to a server. */
public sealed interface Outcome {
    /** The response of the request was handed over; a notification or a response was accepted. */
    record Done() implements Outcome {}

    /** The request was given up by {@code notifications/cancelled}, and no response came. */
    record Cancelled() implements Outcome {}

    /**
     * The server answered with this status, and the message is not sent again. With a status of 4xx it was not executed because of this
     * attempt, unless the body is an error for this very request; then, and with a status of 5xx, the server knows itself how far it came.
     * What may be executed twice may have been sent before, and executed then: an attempt whose answer was lost is not told of here.
     */
    record Refused(int status, HttpHeaders headers, byte[] body, HttpRequest request) implements Outcome {
        /** Redirects that keep the request. Any other status outside 4xx may have been sent after the request was executed. */
        private static final Set<Integer> NOT_EXECUTED = Set.of(301, 307, 308);

        /** Whether a request that is answered so was not executed, unless the body is an error for this very request. */
        static boolean saysNotExecuted(int status) {
            return status / 100 == 4 || NOT_EXECUTED.contains(status);
        }

        /** Whether the request was not executed because of this attempt. */
        public boolean notExecuted(Envelope request) {
            return saysNotExecuted(status) && !answers(request);
        }

        /** Whether the body is an error for this very request. */
        public boolean answers(Envelope request) {
            return MessageBodies.isErrorFor(request, body);
        }

        /**
         * The server's own words, where the body is a JSON-RPC error, as the error for a request: a server that has not read the id, or
         * does not tell it, gives another one or null.
         *
         * @param id that of the request
         */
        public Optional<Envelope> error(RequestId id) {
            return MessageBodies.read(body) instanceof EnvelopeReader.Single said
                            && said.message().kind() == Envelope.Kind.ERROR
                            && said.message().spelledId().isPresent()
                    ? Optional.of(said.message().withId(id))
                    : Optional.empty();
        }

        /** The same for a request that was sent under another id: an error for what was sent is one for the request. */
        Refused withId(Envelope sent, RequestId id) {
            return answers(sent)
                    ? new Refused(status, headers, error(id).orElseThrow().bytes(), request)
                    : this;
        }

        /**
         * What the server says of the credentials that it wants, such as the scope that is missing or where to ask for a token, on one
         * line and behind a comma; empty where it says nothing.
         */
        public String challenge() {
            String challenges = String.join(", ", headers.allValues("www-authenticate"));
            return challenges.isEmpty() ? "" : ", " + HttpStatusException.shown(challenges.getBytes(UTF_8));
        }

        /** For people: the status, and the {@link #challenge}. The rest may hold keys, as the path of a URL does. */
        @Override
        public String toString() {
            return "HTTP status " + status + challenge();
        }
    }

    /** The server does not have the session any more. It did not execute the message. */
    record SessionGone() implements Outcome {}

    /** The message did not reach the server for as long as it was tried, or its request could not be made. It was not executed. */
    record NotSent(Throwable cause) implements Outcome {
        public NotSent {
            cause = ExchangeEnd.unwrap(cause);
        }
    }

    /**
     * Nobody knows whether the server executed the request: the message was sent, and its answer is lost, or what came is none.
     *
     * @param reason how it was lost, or what came, in a sentence
     * @param sessionGone whether the session was lost with it
     */
    record Unknown(String reason, Throwable cause, boolean sessionGone) implements Outcome {}

    /** The answer is there and cannot be taken: it is longer than allowed, or its JSON is damaged. The request was executed. */
    record Unreadable(String reason) implements Outcome {}

    /** The session was closed on this side first. */
    record Closed() implements Outcome {}

    /** Whether it says that the message was not executed. */
    default boolean notExecuted() {
        return this instanceof SessionGone || this instanceof NotSent;
    }

    /**
     * The same for a request that the server had begun before this message, by which it goes on: that this one was not executed does not
     * say what became of the request.
     */
    default Outcome ofBegun(Envelope request) {
        if (this instanceof Refused refused && refused.notExecuted(request)) {
            IOException cause = new HttpStatusException(refused.status, refused.body);
            String said = request.id()
                    .flatMap(refused::error)
                    .map(error -> "HTTP " + cause.getMessage() + refused.challenge())
                    .orElse(refused.toString());
            return new Unknown("it was begun, and then refused with " + said, cause, false);
        } else if (this instanceof NotSent not) {
            return new Unknown("it was begun, and what it goes on with was not sent", not.cause, false);
        } else if (this instanceof SessionGone) {
            String reason = "it was begun, and then its session was lost";
            return new Unknown(reason, new IOException(reason), true);
        }
        return this;
    }

    /** Whether it says that the server has lost the session. */
    default boolean sessionLost() {
        return this instanceof SessionGone || (this instanceof Unknown unknown && unknown.sessionGone());
    }

    /** The same; {@link Closed} where a connection broke, if the session was closed by then: closing breaks connections. */
    default Outcome since(boolean closed) {
        return closed && (this instanceof Unknown || this instanceof NotSent) ? new Closed() : this;
    }
}

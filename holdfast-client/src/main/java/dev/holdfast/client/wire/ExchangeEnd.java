package dev.holdfast.client.wire;

import java.net.http.HttpHeaders;
import java.util.Locale;

/** How an HTTP exchange ended. */
public sealed interface ExchangeEnd {
    /** With an answer that is no stream of events; its whole body was read. */
    record Answer(int status, HttpHeaders headers, byte[] body) implements ExchangeEnd {
        /** Whether the status is 2xx. */
        public boolean good() {
            return status / 100 == 2;
        }

        /** What the body says that it is, in small letters. */
        public String type() {
            return headers.firstValue("content-type").orElse("").toLowerCase(Locale.ROOT);
        }

        /** Whether the body says that it is JSON. */
        public boolean json() {
            return type().contains("json");
        }
    }

    /** The stream of events ended in order: the server closed it. */
    record StreamEnded() implements ExchangeEnd {}

    /** The stream of events broke. */
    record StreamBroken(Throwable cause) implements ExchangeEnd {}

    /**
     * No answer came.
     *
     * @param sent whether the server may have got the request
     */
    record NoAnswer(Throwable cause, boolean sent) implements ExchangeEnd {}
}

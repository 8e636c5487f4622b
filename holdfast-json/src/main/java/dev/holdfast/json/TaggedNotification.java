package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.spi.RequestId;
import java.util.Arrays;
import tools.jackson.core.JsonParser;

/** A notification that says to which {@code subscriptions/listen} it belongs. */
public final class TaggedNotification {
    private static final String ID = "\"io.modelcontextprotocol/subscriptionId\":";

    private TaggedNotification() {}

    /** The member of {@code _meta} that says so. */
    public static String member(RequestId subscription) {
        return ID + subscription.token();
    }

    /** Returns a notification with the id of a subscription in its {@code params._meta}, every other byte as it was. */
    public static byte[] of(byte[] notification, RequestId subscription) {
        Reading reading = new Reading();
        JsonPeek.place(notification, reading::member);
        String member = member(subscription);
        if (reading.meta.present()) {
            return spliced(notification, reading.meta.from() + 1, member + (reading.metaEmpty ? "" : ","));
        }
        String meta = "\"_meta\":{" + member + "}";
        return reading.params.present()
                ? spliced(notification, reading.params.from() + 1, meta + (reading.paramsEmpty ? "" : ","))
                : spliced(notification, 1, "\"params\":{" + meta + "},");
    }

    private static byte[] spliced(byte[] notification, int at, String text) {
        byte[] more = text.getBytes(UTF_8);
        byte[] spliced = Arrays.copyOf(notification, notification.length + more.length);
        System.arraycopy(more, 0, spliced, at, more.length);
        System.arraycopy(notification, at, spliced, at + more.length, notification.length - at);
        return spliced;
    }

    private static final class Reading {
        private Span params = Span.NONE;
        private Span meta = Span.NONE;
        private boolean paramsEmpty = true;
        private boolean metaEmpty = true;

        private void member(String name, JsonParser value) {
            if (name.equals("params") && JsonPeek.isObject(value)) {
                int start = JsonPeek.start(value);
                JsonPeek.members(value, this::param);
                params = JsonPeek.span(value, start);
            }
        }

        private void param(String name, JsonParser value) {
            paramsEmpty = false;
            if (name.equals("_meta") && JsonPeek.isObject(value)) {
                int start = JsonPeek.start(value);
                JsonPeek.members(value, (key, said) -> metaEmpty = false);
                meta = JsonPeek.span(value, start);
            }
        }
    }
}

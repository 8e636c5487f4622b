package dev.holdfast.json;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import org.jspecify.annotations.Nullable;

/** Turns an {@link Envelope} into the messages of the engine. */
final class Conversion {
    private Conversion() {}

    static InboundMessage inbound(Envelope message, Object context) {
        InboundMessage.Kind kind = switch (message.kind()) {
            case REQUEST -> InboundMessage.Kind.REQUEST;
            case NOTIFICATION -> InboundMessage.Kind.NOTIFICATION;
            case RESPONSE, ERROR -> InboundMessage.Kind.RESPONSE;
        };
        return new InboundMessage(
                kind, answerableId(message), message.method(), message.bytes(), journal(message), context);
    }

    static OutboundMessage outbound(Envelope message) {
        byte kind = switch (message.kind()) {
            case RESPONSE -> EventKind.RESPONSE;
            case ERROR -> EventKind.ERROR;
            case REQUEST -> message.method().equals("ping") ? EventKind.PING : EventKind.SERVER_REQUEST;
            case NOTIFICATION ->
                switch (message.method()) {
                    case "notifications/progress" -> EventKind.PROGRESS;
                    case "notifications/message" -> EventKind.LOG;
                    default -> EventKind.NOTIFICATION;
                };
        };
        return new OutboundMessage(kind, answerableId(message), message.onOneLine());
    }

    private static @Nullable RequestId answerableId(Envelope message) {
        if (message.kind() == Envelope.Kind.ERROR && message.id().isEmpty()) {
            throw new IllegalStateException("an error without an id answers no request");
        }
        return message.id().orElse(null);
    }

    /** What the message changes in the journal that a restored backend is given. */
    private static JournalChange journal(Envelope message) {
        String method = message.method();
        if (message.kind() == Envelope.Kind.NOTIFICATION) {
            return method.equals("notifications/initialized") ? new JournalChange.Put(method) : JournalChange.NONE;
        }
        return switch (method) {
            case "logging/setLevel" -> new JournalChange.Put(method);
            case "resources/subscribe" ->
                message.uri()
                        .<JournalChange>map(uri -> new JournalChange.Put(subscription(uri)))
                        .orElse(JournalChange.NONE);
            case "resources/unsubscribe" ->
                message.uri()
                        .<JournalChange>map(uri -> new JournalChange.Remove(subscription(uri)))
                        .orElse(JournalChange.NONE);
            default -> JournalChange.NONE;
        };
    }

    private static String subscription(String uri) {
        return "resources/subscribe:" + uri;
    }
}

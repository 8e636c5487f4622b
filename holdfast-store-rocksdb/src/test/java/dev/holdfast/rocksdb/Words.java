package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** Messages that a test can read: the engine knows no JSON. A fixture has them in it, so that they never change. */
final class Words implements MessageFactory {
    private static final String REQUEST = "request ";
    private static final String NOTIFICATION = "notification ";
    private static final String PROGRESS = "progress ";
    private static final String SERVER = " of server ";
    private static final String LISTS = " with lists ";

    static RequestId id(int number) {
        return new RequestId(Integer.toString(number));
    }

    static InboundMessage request(int id, String method) {
        return request(id, method, JournalChange.NONE);
    }

    static InboundMessage request(int id, String method, JournalChange journal) {
        return in(InboundMessage.Kind.REQUEST, id(id), method, REQUEST + id + " " + method, journal);
    }

    static InboundMessage notification(String method, JournalChange journal) {
        return in(InboundMessage.Kind.NOTIFICATION, null, method, NOTIFICATION + method, journal);
    }

    private static InboundMessage in(
            InboundMessage.Kind kind, @Nullable RequestId id, String method, String text, JournalChange journal) {
        return new InboundMessage(kind, id, method, text.getBytes(UTF_8), journal, InboundMessage.NO_CONTEXT);
    }

    static OutboundMessage response(RequestId id) {
        return out(EventKind.RESPONSE, id, "result " + id);
    }

    /** The response to {@code initialize}, in which a server says who it is. */
    static OutboundMessage introduction(RequestId id, Introduction said) {
        return out(EventKind.RESPONSE, id, "result " + id + SERVER + said.server() + LISTS + said.lists());
    }

    static OutboundMessage question(String id) {
        return out(EventKind.SERVER_REQUEST, new RequestId(id), "question " + id);
    }

    static OutboundMessage notice(String text) {
        return out(EventKind.NOTIFICATION, null, text);
    }

    static OutboundMessage progress(int number) {
        return out(EventKind.PROGRESS, null, PROGRESS + number);
    }

    private static OutboundMessage out(byte kind, @Nullable RequestId id, String text) {
        return new OutboundMessage(kind, id, text.getBytes(UTF_8));
    }

    static String text(byte[] bytes) {
        return new String(bytes, UTF_8);
    }

    @Override
    public OutboundMessage error(RequestId id, int code, String message) {
        return out(EventKind.ERROR, id, "error " + id + " " + code + ": " + message);
    }

    @Override
    public OutboundMessage cancelled(RequestId id, String reason) {
        return notice("cancelled " + id + ": " + reason);
    }

    @Override
    public InboundMessage read(byte[] message) {
        String text = text(message);
        if (text.startsWith(NOTIFICATION)) {
            return notification(text.substring(NOTIFICATION.length()), JournalChange.NONE);
        }
        String[] words = text.split(" ", 3);
        if (!text.startsWith(REQUEST) || words.length < 3) {
            throw new IllegalArgumentException(text);
        }
        return request(Integer.parseInt(words[1]), words[2]);
    }

    @Override
    public OptionalDouble progress(byte[] notification) {
        return OptionalDouble.of(Double.parseDouble(text(notification).substring(PROGRESS.length())));
    }

    @Override
    public Introduction introduction(byte[] response) {
        String text = text(response);
        int server = text.indexOf(SERVER);
        int lists = text.indexOf(LISTS);
        return new Introduction(
                Long.parseLong(text.substring(server + SERVER.length(), lists)),
                Byte.parseByte(text.substring(lists + LISTS.length())));
    }

    @Override
    public List<OutboundMessage> listsChanged(byte lists) {
        return List.of(notice("lists " + lists + " changed"));
    }
}

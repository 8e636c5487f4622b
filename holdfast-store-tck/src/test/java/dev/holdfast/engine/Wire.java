package dev.holdfast.engine;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Messages in both directions. The engine knows no JSON, so that their text can be what a test wants to read. */
final class Wire implements MessageFactory {
    static final Wire MESSAGES = new Wire();

    private Wire() {}

    static RequestId id(int number) {
        return new RequestId(Integer.toString(number));
    }

    static InboundMessage request(int id) {
        return request(id(id), "tools/call", JournalChange.NONE);
    }

    static InboundMessage request(RequestId id, String method, JournalChange journal) {
        return new InboundMessage(
                InboundMessage.Kind.REQUEST, id, method, bytes(method + " " + id), journal, InboundMessage.NO_CONTEXT);
    }

    static InboundMessage initialize() {
        return request(id(0), "initialize", JournalChange.NONE);
    }

    static InboundMessage notification(String method) {
        return notification(method, JournalChange.NONE);
    }

    static InboundMessage notification(String method, JournalChange journal) {
        return new InboundMessage(
                InboundMessage.Kind.NOTIFICATION, null, method, bytes(method), journal, InboundMessage.NO_CONTEXT);
    }

    static InboundMessage cancelled(int id) {
        return notification("notifications/cancelled " + id);
    }

    static InboundMessage answer(RequestId id) {
        return new InboundMessage(
                InboundMessage.Kind.RESPONSE,
                id,
                "",
                bytes("answer " + id),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
    }

    static OutboundMessage response(RequestId id) {
        return out(EventKind.RESPONSE, id, "result " + id);
    }

    static OutboundMessage response(int id) {
        return response(id(id));
    }

    static OutboundMessage refusal(RequestId id) {
        return out(EventKind.ERROR, id, "refused " + id);
    }

    static OutboundMessage question(String id) {
        return out(EventKind.SERVER_REQUEST, new RequestId(id), "question " + id);
    }

    /** A question whose words tell whether it is asked again. */
    static OutboundMessage question(String words, int id) {
        return out(EventKind.SERVER_REQUEST, id(id), words + "? " + id);
    }

    /** The answer to a question of this id, in these words. */
    static InboundMessage answer(String words, int id) {
        return new InboundMessage(
                InboundMessage.Kind.RESPONSE,
                id(id),
                "",
                bytes(words + "! " + id),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
    }

    static OutboundMessage ping(String id) {
        return out(EventKind.PING, new RequestId(id), "ping " + id);
    }

    static OutboundMessage notice(String text) {
        return out(EventKind.NOTIFICATION, null, text);
    }

    static OutboundMessage progress(String text) {
        return out(EventKind.PROGRESS, null, text);
    }

    static OutboundMessage log(String text) {
        return out(EventKind.LOG, null, text);
    }

    static OutboundMessage out(byte kind, @Nullable RequestId id, String text) {
        return new OutboundMessage(kind, id, bytes(text));
    }

    @Override
    public OutboundMessage error(RequestId id, int code, String message) {
        return out(EventKind.ERROR, id, "error " + id + " " + code + ": " + message);
    }

    @Override
    public OutboundMessage cancelled(RequestId id, String reason) {
        return notice("cancelled " + id + ": " + reason);
    }

    /** A method and an id, or a method alone. */
    @Override
    public InboundMessage read(byte[] message) {
        String text = text(message);
        if (text.equals("nonsense")) {
            throw new IllegalArgumentException(text);
        }
        int end = text.lastIndexOf(' ');
        return end < 0 || !text.substring(end + 1).matches("[0-9]+") || text.contains("notification")
                ? new InboundMessage(
                        InboundMessage.Kind.NOTIFICATION,
                        null,
                        text,
                        message,
                        JournalChange.NONE,
                        InboundMessage.NO_CONTEXT)
                : new InboundMessage(
                        InboundMessage.Kind.REQUEST,
                        new RequestId(text.substring(end + 1)),
                        text.substring(0, end),
                        message,
                        JournalChange.NONE,
                        InboundMessage.NO_CONTEXT);
    }

    /** The number at the end. */
    @Override
    public OptionalDouble progress(byte[] notification) {
        String text = text(notification);
        String number = text.substring(text.lastIndexOf(' ') + 1);
        return number.matches("[0-9]+") ? OptionalDouble.of(Double.parseDouble(number)) : OptionalDouble.empty();
    }

    /** The whole text; a list for each {@code s} in it. */
    @Override
    public Introduction introduction(byte[] response) {
        String text = text(response);
        return new Introduction(
                text.hashCode(), (byte) text.chars().filter(c -> c == 's').count());
    }

    /** The whole text is its name, and its version too. */
    @Override
    public Client client(byte[] initialize) {
        return new Client(text(initialize), text(initialize));
    }

    /** The whole text. */
    @Override
    public String name(byte[] request) {
        return text(request);
    }

    /** The whole text, of what is no result. */
    @Override
    public String fault(OutboundMessage answer) {
        String text = text(answer.bytes());
        return text.startsWith("result") ? "" : text;
    }

    /** What stands before the question mark. */
    @Override
    public Optional<byte[]> asked(byte[] question) {
        String text = text(question);
        return Optional.of(text.indexOf('?')).filter(end -> end >= 0).map(end -> bytes(text.substring(0, end)));
    }

    /** What stands before the exclamation mark is given again. */
    @Override
    public Optional<InboundMessage> answer(RequestId question, byte[] answer) {
        String text = text(answer);
        return Optional.of(text.indexOf('!'))
                .filter(end -> end >= 0)
                .map(end -> answer(text.substring(0, end), Integer.parseInt(question.token())));
    }

    @Override
    public List<OutboundMessage> listsChanged(byte lists) {
        return IntStream.rangeClosed(1, lists)
                .mapToObj(list -> notice("list " + list + " changed"))
                .toList();
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static String text(Event event) {
        return text(event.bytes());
    }
}

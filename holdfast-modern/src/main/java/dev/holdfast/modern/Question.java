package dev.holdfast.modern;

import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What a backend asks the client of a call.
 *
 * @param key names it to the client; no other question of the call ever has it. A server may choose it, by {@code
 *     dev.holdfast/inputKey} in its {@code params._meta}, and must not choose one twice
 * @param id by which the backend knows it
 * @param method what is asked
 * @param params of it, as JSON; empty for none
 */
record Question(String key, RequestId id, String method, String params) {
    /** The member of {@code params._meta} by which a server chooses the key of its question. */
    private static final String KEY = "dev.holdfast/inputKey";

    /** The question that an event is. */
    static Question of(Event event) {
        byte[] bytes = event.bytes();
        return new Question(
                JsonParts.string(bytes, "params", "_meta", KEY).orElseGet(() -> "q" + event.offset()),
                Objects.requireNonNull(event.id()),
                JsonParts.string(bytes, "method").orElse(""),
                JsonParts.raw(bytes, "params").orElse(""));
    }

    /** The answer to what a backend asks outside of calls, when nobody is there that can be asked; empty where an event asks nothing. */
    static Optional<InboundMessage> answerOutsideOfCalls(Event event) {
        return event.kind() == EventKind.SERVER_REQUEST
                ? Optional.of(of(event).declined("no client is there that can be asked"))
                : Optional.empty();
    }

    /** The capability of the client that it needs. */
    String capability() {
        int end = method.indexOf('/');
        return end < 0 ? method : method.substring(0, end);
    }

    /** All of them, as an answer has them. */
    static String json(Collection<Question> questions) {
        return questions.stream()
                .map(question -> JsonParts.quoted(question.key) + ":{\"method\":" + JsonParts.quoted(question.method)
                        + (question.params.isEmpty() ? "" : ",\"params\":" + question.params) + "}")
                .collect(Collectors.joining(",", "{", "}"));
    }

    /** The answer that its client gives. */
    InboundMessage answered(String result, Object context) {
        return answer(JsonRpc.result(id, result), context);
    }

    /** The answer that is given in the place of its client, who cannot be asked. */
    InboundMessage declined(String why) {
        return answer(JsonRpc.errorBody(Optional.of(id), JsonRpc.METHOD_NOT_FOUND, why), InboundMessage.NO_CONTEXT);
    }

    private InboundMessage answer(byte[] body, Object context) {
        return new InboundMessage(InboundMessage.Kind.RESPONSE, id, "", body, JournalChange.NONE, context);
    }
}

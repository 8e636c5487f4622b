package dev.holdfast.json;

import java.util.Optional;

/**
 * How a request went, by its answer.
 *
 * @param code the code of a JSON-RPC error; empty where there is a result
 * @param message the message of that error
 * @param toolError whether the result of a tool says that the tool failed
 */
public record AnswerFacts(Optional<String> code, Optional<String> message, boolean toolError) {
    private static final AnswerFacts DONE = new AnswerFacts(Optional.empty(), Optional.empty(), false);

    /** Reads the result of a tool. */
    public static AnswerFacts ofToolResult(byte[] answer) {
        return JsonPeek.isTrue(answer, "result", "isError")
                ? new AnswerFacts(Optional.empty(), Optional.empty(), true)
                : DONE;
    }

    /** Reads an error. */
    public static AnswerFacts ofError(byte[] answer) {
        return new AnswerFacts(
                JsonPeek.scalar(answer, "error", "code").or(() -> Optional.of("unknown")),
                JsonPeek.scalar(answer, "error", "message"),
                false);
    }

    /** The facts of an answer that is neither. */
    public static AnswerFacts done() {
        return DONE;
    }
}

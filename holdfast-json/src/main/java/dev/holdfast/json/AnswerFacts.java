package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.List;
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

    /** The member that tells of a failure, as a result spells it, and how far a look for it goes on by the byte that it sees. */
    private static final byte[] MEMBER = "\"isError\"".getBytes(US_ASCII);

    private static final byte[] STEPS = new byte[256];

    static {
        Arrays.fill(STEPS, (byte) MEMBER.length);
        for (int i = 0; i < MEMBER.length - 1; i++) {
            STEPS[MEMBER[i]] = (byte) (MEMBER.length - 1 - i);
        }
    }

    /** Reads the result of a tool. */
    public static AnswerFacts ofToolResult(byte[] answer) {
        return mayHaveFailed(answer) && JsonPeek.isTrue(answer, "result", "isError")
                ? new AnswerFacts(Optional.empty(), Optional.empty(), true)
                : DONE;
    }

    /** Whether the member occurs with a value that may be true, wherever that is: nearly all results are told by their bytes alone. */
    private static boolean mayHaveFailed(byte[] answer) {
        int last = MEMBER.length - 1;
        for (int at = last; at < answer.length; at += STEPS[answer[at] & 0xFF]) {
            if (answer[at] == '"' && Arrays.equals(answer, at - last, at + 1, MEMBER, 0, MEMBER.length)) {
                int value = at + 1;
                while (value < answer.length && (answer[value] == ':' || JsonBytes.isWhiteSpace(answer[value]))) {
                    value++;
                }
                if (value < answer.length && answer[value] == 't') {
                    return true;
                }
            }
        }
        return false;
    }

    /** The names of the tools that an answer to {@code tools/list} has. */
    public static List<String> toolNames(byte[] answer) {
        return ToolList.read(answer).tools().stream().map(ToolList.Tool::name).toList();
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

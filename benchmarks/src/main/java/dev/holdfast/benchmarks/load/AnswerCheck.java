package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;

/** Whether a response is the answer to a call: it has a result, and the id wherever the server puts it. */
@FunctionalInterface
interface AnswerCheck {
    /** As much of a large answer is looked at from either end. */
    int WINDOW = 2048;

    boolean holds(ByteArrayOutputStream body, int id);

    /** The answer to this call. */
    static AnswerCheck ofId() {
        return (body, id) -> {
            String text = ends(body);
            return text.contains("\"result\":") && text.contains("\"id\":" + id);
        };
    }

    /** Any answer: a server without MCP always writes the same bytes. */
    static AnswerCheck ofResult() {
        return (body, id) -> ends(body).contains("\"result\":");
    }

    private static String ends(ByteArrayOutputStream body) {
        byte[] all = body.toByteArray();
        if (all.length <= 2 * WINDOW) {
            return new String(all, US_ASCII);
        }
        return new String(all, 0, WINDOW, US_ASCII) + new String(all, all.length - WINDOW, WINDOW, US_ASCII);
    }
}

package dev.holdfast.modern;

import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.ModernAnswer;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import java.time.Instant;
import java.util.Optional;

/**
 * A task, as its client reads it.
 *
 * @see <a href="https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md">the extension
 *     io.modelcontextprotocol/tasks</a>
 */
final class Task {
    private static final int POLL_MILLIS = 1_000;

    private Task() {}

    /** The members of a task that has just begun. */
    static String begun(String taskId, CallNote note) {
        return members(taskId, note, CallState.Status.WORKING, note.createdAt(), Optional.empty());
    }

    /**
     * The members of a task in the state that it has.
     *
     * @param now in milliseconds since 1970
     * @param serverInfo how the server introduces itself in a result, as JSON; empty if it does not
     */
    static String detailed(String taskId, CallState state, long now, String serverInfo) {
        CallState.Status status = state.status();
        CallNote note = state.note();
        StringBuilder task = new StringBuilder(members(
                taskId, note, status, status == CallState.Status.WORKING ? note.createdAt() : now, state.message()));
        if (status == CallState.Status.INPUT_REQUIRED) {
            task.append(",\"inputRequests\":").append(Question.json(state.questions()));
        }
        state.answer().ifPresent(answer -> task.append(outcome(answer, note, serverInfo)));
        return task.toString();
    }

    private static String outcome(Event answer, CallNote note, String serverInfo) {
        byte[] modern = ModernAnswer.of(answer.bytes(), note.method(), new RequestId("0"), serverInfo)
                .bytes();
        return JsonParts.raw(modern, "result")
                .map(result -> ",\"result\":" + result)
                .or(() -> JsonParts.raw(modern, "error").map(error -> ",\"error\":" + error))
                .orElse("");
    }

    private static String members(
            String taskId, CallNote note, CallState.Status status, long updatedAt, Optional<String> message) {
        return "\"taskId\":" + JsonParts.quoted(taskId)
                + ",\"status\":\"" + status.text() + "\""
                + message.map(text -> ",\"statusMessage\":" + JsonParts.quoted(text))
                        .orElse("")
                + ",\"createdAt\":\"" + Instant.ofEpochMilli(note.createdAt())
                + "\",\"lastUpdatedAt\":\"" + Instant.ofEpochMilli(updatedAt)
                + "\",\"ttlMs\":" + note.ttlMillis()
                + ",\"pollIntervalMs\":" + POLL_MILLIS;
    }

    /** A response whose result has these members. */
    static byte[] response(RequestId id, String type, String members) {
        return JsonRpc.result(id, "{\"resultType\":\"" + type + "\"" + (members.isEmpty() ? "" : "," + members) + "}");
    }
}

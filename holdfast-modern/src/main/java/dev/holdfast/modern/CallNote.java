package dev.holdfast.modern;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.spi.RequestId;
import java.util.Arrays;
import java.util.Base64;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What stands in the stream of a call from the moment on that its client may come back for it by a {@link CallHandle}.
 *
 * @param nonce what the handle must say
 * @param task whether its client takes a task; else it only waits to be asked something
 * @param createdAt when, in milliseconds since 1970
 * @param ttlMillis how long from then on the handle is good at least
 * @param answers of what the client can be asked
 * @param request the id of the call's request in its session
 * @param method the method of that
 * @param subject a digest of what it is about, the name of a tool or prompt, or the URI of a resource
 * @param principal whose call it is: where many share a session, that is nobody's
 */
public record CallNote(
        String nonce,
        boolean task,
        long createdAt,
        long ttlMillis,
        Set<String> answers,
        RequestId request,
        String method,
        String subject,
        String principal) {
    private static final String VERSION = "2";
    private static final int PARTS = 10;

    /** A digest of what a request is about. */
    static String subject(Envelope request) {
        byte[] digest = JsonRpc.sha256(RequestMeta.subject(request).orElse(""));
        return Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
    }

    byte[] pack() {
        return String.join(
                        " ",
                        VERSION,
                        nonce,
                        task ? "task" : "parked",
                        Long.toString(createdAt),
                        Long.toString(ttlMillis),
                        "," + String.join(",", answers),
                        method,
                        subject,
                        Base64.getUrlEncoder().encodeToString(principal.getBytes(UTF_8)),
                        request.token())
                .getBytes(UTF_8);
    }

    /** Reads one; empty if it is of another version. */
    static Optional<CallNote> of(byte[] note) {
        String[] parts = new String(note, UTF_8).split(" ", PARTS);
        return parts.length == PARTS && parts[0].equals(VERSION)
                ? Optional.of(new CallNote(
                        parts[1],
                        parts[2].equals("task"),
                        Long.parseLong(parts[3]),
                        Long.parseLong(parts[4]),
                        Arrays.stream(parts[5].split(","))
                                .filter(each -> !each.isEmpty())
                                .collect(Collectors.toUnmodifiableSet()),
                        new RequestId(parts[9]),
                        parts[6],
                        parts[7],
                        new String(Base64.getUrlDecoder().decode(parts[8]), UTF_8)))
                : Optional.empty();
    }
}

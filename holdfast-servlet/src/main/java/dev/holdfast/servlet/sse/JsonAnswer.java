package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The answer to a call whose client takes JSON only: the response, or an array of those of a batch. What else the stream carries is left
 * out; a question is handed to somebody who answers it, for the client never sees it. White space before the response is the heartbeat.
 * For the holder of the pump.
 */
public final class JsonAnswer implements Framing {
    static final String TYPE = "application/json;charset=utf-8";

    private static final byte[] SPACE = " ".getBytes(US_ASCII);

    private final List<RequestId> unanswered;
    private final boolean array;
    private final Consumer<RequestId> asked;
    private boolean begun;

    /**
     * The answer to requests.
     *
     * @param array whether the responses stand in an array, as those of a batch do
     * @param asked takes each question
     */
    public JsonAnswer(List<RequestId> requests, boolean array, Consumer<RequestId> asked) {
        this.unanswered = new ArrayList<>(requests);
        this.array = array;
        this.asked = asked;
    }

    @Override
    public String contentType() {
        return TYPE;
    }

    @Override
    public int status() {
        return 200;
    }

    @Override
    public long headNanos() {
        return SseChannel.GATHER_NANOS;
    }

    @Override
    public long heartbeatNanos(long configured) {
        return configured;
    }

    @Override
    public boolean resumable() {
        return false;
    }

    @Override
    public byte[] heartbeat() {
        return SPACE;
    }

    @Override
    public void open(SseFrames frames, long retryMillis, String position) {
        // a JSON text has no head
    }

    @Override
    public boolean tellsPosition() {
        return false;
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        if (EventKind.asks(event.kind())) {
            asked.accept(Objects.requireNonNull(event.id()));
        } else if (EventKind.answers(event.kind()) && unanswered.remove(event.id())) {
            frames.add(before().getBytes(US_ASCII));
            frames.addMessage(event.bytes());
            frames.add(after().getBytes(US_ASCII));
        }
    }

    @Override
    public boolean over() {
        return false;
    }

    @Override
    public void tick(long age) {
        // it changes with its events only
    }

    @Override
    public byte[] ending() {
        return errors("the call has ended without a response");
    }

    @Override
    public byte[] closing(long retryMillis) {
        return errors(
                "the server has ended this connection before the call: whether the call has an effect is not known, and only a"
                        + " client that accepts text/event-stream can come back for the response");
    }

    /** Errors in the place of the responses that are missing. */
    private byte[] errors(String text) {
        StringBuilder errors = new StringBuilder();
        while (!unanswered.isEmpty()) {
            byte[] error = JsonRpc.errorBody(Optional.of(unanswered.remove(0)), JsonRpc.SERVER_ERROR, text);
            errors.append(before()).append(new String(error, UTF_8)).append(after());
        }
        return errors.toString().getBytes(UTF_8);
    }

    private String before() {
        String before = begun ? "," : "[";
        begun = true;
        return array ? before : "";
    }

    private String after() {
        return array && unanswered.isEmpty() ? "]" : "";
    }
}

package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.modern.ModernStream;
import dev.holdfast.spi.Event;
import java.util.concurrent.TimeUnit;

/**
 * The answer to one request of a stateless revision: JSON where the response comes first, else a stream of events without ids, for nobody
 * can come back. Where nothing comes for a while it becomes a stream too, since only a write finds out that the client has gone. For the
 * holder of the pump.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages">MCP
 *     2026-07-28, receiving messages</a>
 */
public final class ModernFraming implements Framing {
    /** How long the response may be silent: a client that goes cancels its request. */
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final byte[] COMMENT = ":".getBytes(US_ASCII);
    private static final byte[] SPACE = " ".getBytes(US_ASCII);

    private final ModernStream stream;
    private Form form;
    private int status = 200;
    private boolean answered;

    /** What the answer is. */
    public enum Form {
        /** What its first message makes of it. */
        UNDECIDED,
        JSON,
        STREAM
    }

    /** The answer to a request whose client takes this form, or all. */
    public ModernFraming(ModernStream stream, Form form) {
        this.stream = stream;
        this.form = form;
    }

    /** The status of an answer that is JSON. */
    public static int status(int code) {
        return switch (code) {
            case JsonRpc.METHOD_NOT_FOUND -> 404;
            case JsonRpc.HEADER_MISMATCH, JsonRpc.MISSING_CAPABILITY, JsonRpc.UNSUPPORTED_VERSION -> 400;
            default -> 200;
        };
    }

    @Override
    public int status() {
        return status;
    }

    @Override
    public String contentType() {
        return form == Form.JSON ? JsonAnswer.TYPE : SseFraming.EVENT_STREAM;
    }

    @Override
    public long headNanos() {
        return SILENCE_NANOS;
    }

    @Override
    public long heartbeatNanos(long configured) {
        return Math.min(configured, SILENCE_NANOS);
    }

    @Override
    public boolean resumable() {
        return false;
    }

    @Override
    public byte[] heartbeat() {
        form = form == Form.UNDECIDED ? Form.STREAM : form;
        return form == Form.JSON ? SPACE : COMMENT;
    }

    @Override
    public void open(SseFrames frames, long retryMillis, String position) {
        // the first event decides what the answer is
    }

    @Override
    public boolean tellsPosition() {
        return false;
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        if (!answered) {
            stream.take(event, position).ifPresent(message -> add(frames, message));
        }
    }

    private void add(SseFrames frames, ModernStream.Message message) {
        answered = message.last();
        if (form == Form.UNDECIDED) {
            form = message.last() ? Form.JSON : Form.STREAM;
        }
        if (form == Form.STREAM) {
            frames.addEvent("", "", message.bytes());
        } else if (message.last()) {
            status = status(message.code());
            frames.addMessage(message.bytes());
        }
    }

    @Override
    public boolean over() {
        return answered;
    }

    @Override
    public void tick(long age) {
        stream.tick(age);
    }

    @Override
    public byte[] ending() {
        return failed("the call has ended without a response");
    }

    @Override
    public byte[] closing(long retryMillis) {
        return failed(
                "the server has ended this connection before the call: whether the call has an effect is not known");
    }

    private byte[] failed(String why) {
        if (answered) {
            return SseFrames.NOTHING;
        }
        SseFrames frames = new SseFrames();
        add(frames, stream.ended(why));
        return frames.takeAll();
    }
}

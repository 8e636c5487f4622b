package dev.holdfast.spi;

/**
 * What an outbound message is, as far as keeping and dropping it goes. An open byte: a store passes on a kind it does not know,
 * and the engine treats it like {@link #NOTIFICATION}.
 */
public final class EventKind {
    /** A response with a result. */
    public static final byte RESPONSE = 1;
    /** A response with an error. */
    public static final byte ERROR = 2;
    /** A request from the server to the client (sampling, elicitation, roots). */
    public static final byte SERVER_REQUEST = 3;
    /** Any notification but those below. */
    public static final byte NOTIFICATION = 4;
    /** {@code notifications/progress}. */
    public static final byte PROGRESS = 5;
    /** {@code notifications/message}. */
    public static final byte LOG = 6;
    /**
     * A {@code ping} from the server: kept until it is answered, for a client that is away too, but not sent again to one that
     * has confirmed it. Of many that wait the oldest are given up.
     */
    public static final byte PING = 7;

    /** What the edge notes in the stream of a call for itself: no message for the client. Kept as long as a response is. */
    public static final byte NOTE = 8;

    private EventKind() {}

    /** Whether this kind answers a request of the client. */
    public static boolean answers(byte kind) {
        return kind == RESPONSE || kind == ERROR;
    }

    /** Whether this kind asks the client something. */
    public static boolean asks(byte kind) {
        return kind == SERVER_REQUEST || kind == PING;
    }
}

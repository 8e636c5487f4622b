package dev.holdfast.spi;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/** Writes and reads the few JSON-RPC messages that the engine itself is concerned with; the engine knows no JSON. */
public interface MessageFactory {
    /**
     * Returns the error response to a request.
     *
     * @param code a JSON-RPC error code
     * @param message what went wrong, in words for the client
     */
    OutboundMessage error(RequestId id, int code, String message);

    /** Returns {@code notifications/cancelled} for a server-to-client request that nobody waits for any more. */
    OutboundMessage cancelled(RequestId id, String reason);

    /**
     * Reads a message of the client back from where the store has kept it.
     *
     * @param message the bytes of a request or notification that was once taken
     * @throws IllegalArgumentException if it is neither
     */
    InboundMessage read(byte[] message);

    /** How far a {@code notifications/progress} says that its call is; empty if it does not say. */
    OptionalDouble progress(byte[] notification);

    /** What a server says of itself in its response to {@code initialize}; {@link Introduction#NONE} if that cannot be read. */
    Introduction introduction(byte[] response);

    /** What a client says of itself in its {@code initialize}; empty texts where it says nothing. Default {@link Client#UNKNOWN}. */
    default Client client(byte[] initialize) {
        return Client.UNKNOWN;
    }

    /** The name of the tool or prompt that a request is about; empty where it names none. Default empty. */
    default String name(byte[] request) {
        return "";
    }

    /**
     * What went wrong by an answer: the code of a JSON-RPC error, or {@code tool-error} where a tool says that it has failed; empty
     * where nothing did. Default empty.
     */
    default String fault(OutboundMessage answer) {
        return "";
    }

    /**
     * By what two questions of a server are the same, whatever their ids are: some bytes, which do not grow with the question. Empty, which
     * is the default, where no answer to it is kept.
     */
    default Optional<byte[]> asked(byte[] question) {
        return Optional.empty();
    }

    /**
     * Returns the answer of a client as that to another question, which is the same. Empty, which is the default, where it is none that
     * may be given again, as an error is none.
     */
    default Optional<InboundMessage> answer(RequestId question, byte[] answer) {
        return Optional.empty();
    }

    /** Returns the answer to a {@code ping} of a server whose session no client knows; empty, which is the default, where it is kept. */
    default Optional<InboundMessage> pong(RequestId ping) {
        return Optional.empty();
    }

    /** Returns the notifications that these lists have changed, as {@link Introduction#lists} names them. */
    List<OutboundMessage> listsChanged(byte lists);

    /** The name and the version of a client, in its own words. */
    record Client(String name, String version) {
        /** Nothing is known. */
        public static final Client UNKNOWN = new Client("", "");
    }

    /**
     * What is kept of a server's words of itself.
     *
     * @param server a number for its capabilities, its name and its version: where another one is said, it is not the same
     *     server any more, or not in the same version; 0 where nothing is known
     * @param lists the lists whose changes the server tells, in a form of the factory's own
     */
    record Introduction(long server, byte lists) {
        /** Nothing is known. */
        public static final Introduction NONE = new Introduction(0, (byte) 0);

        /** Whether anything is. */
        public boolean known() {
            return server != 0;
        }
    }
}

package dev.holdfast.session;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionRecord;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What the record of a running call keeps where the call may be run again after its process has died. A call that it may have died of
 * is not tried for ever.
 *
 * @param runs how often it was run so far
 * @param request the request
 * @param answers what its client has answered, in that order
 * @param goesOn whether the request is one by which its backend goes on with what has outlived the process
 */
record Rerun(int runs, byte[] request, List<Answer> answers, boolean goesOn) {
    /** With answers it has no more: it is written again with each. */
    static final int MOST_BYTES = 1 << 16;

    private static final byte VERSION = 1;
    /** To an earlier version of this library it is a call that must not be run again: it would ask anew. */
    private static final byte WITH_ANSWERS = 2;
    /** To an earlier version it is such a call too: it would give up too soon what goes on. */
    private static final byte GOES_ON = 3;

    private static final int HEADER = 1 + Integer.BYTES;
    private static final int MOST_RUNS = 3;

    /**
     * What a client has answered.
     *
     * @param question by which the question is known when it comes again
     * @param bytes the answer
     */
    record Answer(byte[] question, byte[] bytes) {}

    /** What to keep of a request that runs for the first time. */
    static Rerun first(InboundMessage request) {
        return new Rerun(1, request.bytes(), List.of(), false);
    }

    /** What to keep of one that its backend goes on with by this request. */
    static Rerun goingOn(InboundMessage request) {
        return new Rerun(1, request.bytes(), List.of(), true);
    }

    /** What was kept of a call that is to be run again; empty if it must not be. */
    static Optional<Rerun> of(SessionRecord.RunningCall call) {
        ByteBuffer packed = ByteBuffer.wrap(call.extension());
        byte version = packed.remaining() > HEADER ? packed.get() : 0;
        if (version < VERSION || version > GOES_ON) {
            return Optional.empty();
        }
        int runs = packed.getInt();
        List<Answer> answers = new ArrayList<>(0);
        for (int more = version == VERSION ? 0 : packed.getInt(); more > 0; more--) {
            answers.add(new Answer(bytes(packed, packed.getInt()), bytes(packed, packed.getInt())));
        }
        byte[] request = bytes(packed, packed.remaining());
        return runs < MOST_RUNS ? Optional.of(new Rerun(runs, request, answers, version == GOES_ON)) : Optional.empty();
    }

    private static byte[] bytes(ByteBuffer packed, int length) {
        byte[] bytes = new byte[length];
        packed.get(bytes);
        return bytes;
    }

    Rerun next() {
        return new Rerun(runs + 1, request, answers, goesOn);
    }

    Rerun with(Answer next) {
        return new Rerun(
                runs, request, Stream.concat(answers.stream(), Stream.of(next)).toList(), goesOn);
    }

    int size() {
        int size = HEADER + request.length + (version() == VERSION ? 0 : Integer.BYTES);
        for (Answer answer : answers) {
            size += 2 * Integer.BYTES + answer.question.length + answer.bytes.length;
        }
        return size;
    }

    private byte version() {
        return goesOn ? GOES_ON : answers.isEmpty() ? VERSION : WITH_ANSWERS;
    }

    byte[] pack() {
        ByteBuffer packed = ByteBuffer.allocate(size());
        packed.put(version()).putInt(runs);
        if (version() != VERSION) {
            packed.putInt(answers.size());
        }
        for (Answer answer : answers) {
            packed.putInt(answer.question.length).put(answer.question);
            packed.putInt(answer.bytes.length).put(answer.bytes);
        }
        return packed.put(request).array();
    }
}

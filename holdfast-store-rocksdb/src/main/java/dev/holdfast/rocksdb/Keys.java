package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The keys of the database, in the order of their bytes; numbers are big-endian and not negative.
 *
 * <pre>
 *   1 | expiry (8) | session (32)                       the sessions in the order in which they expire
 *   2 | session (32) | 0                                the session's header
 *   2 | session (32) | 1 | place (8)                    a message of its journal
 *   2 | session (32) | 2 | stream (12)                  a running call
 *   2 | session (32) | 3 | stream (12)                  the highest offset that was trimmed from a stream
 *   2 | session (32) | 4 | stream (12) | offset (8)     an event
 * </pre>
 */
final class Keys {
    static final byte HEADER = 0;
    static final byte JOURNAL = 1;
    static final byte RUNNING = 2;
    static final byte TRIMMED = 3;
    static final byte EVENT = 4;

    private static final byte EXPIRIES = 1;
    private static final byte SESSIONS = 2;
    private static final int SESSION_BYTES = 32;
    /** How many bytes name a session. */
    static final int PREFIX = 1 + SESSION_BYTES;

    private static final int STREAM_BYTES = Integer.BYTES + Long.BYTES;

    private Keys() {}

    private static ByteBuffer start(SessionKey session, int more) {
        return put(ByteBuffer.allocate(PREFIX + more).put(SESSIONS), session);
    }

    private static ByteBuffer put(ByteBuffer bytes, SessionKey session) {
        return bytes.putLong(session.a())
                .putLong(session.b())
                .putLong(session.c())
                .putLong(session.d());
    }

    static byte[] header(SessionKey session) {
        return start(session, 1).put(HEADER).array();
    }

    /** Greater than every key of the session, and no greater than any of the next. */
    static byte[] end(SessionKey session) {
        return start(session, 1).put((byte) 0xff).array();
    }

    static byte[] journal(SessionKey session, long place) {
        return start(session, 1 + Long.BYTES).put(JOURNAL).putLong(place).array();
    }

    static byte[] running(SessionKey session, StreamId stream) {
        return stream(session, RUNNING, stream, 0).array();
    }

    static byte[] trimmed(SessionKey session, StreamId stream) {
        return stream(session, TRIMMED, stream, 0).array();
    }

    static byte[] event(SessionKey session, StreamId stream, long offset) {
        return stream(session, EVENT, stream, Long.BYTES).putLong(offset).array();
    }

    private static ByteBuffer stream(SessionKey session, byte what, StreamId stream, int more) {
        return start(session, 1 + STREAM_BYTES + more)
                .put(what)
                .putInt(stream.epoch())
                .putLong(stream.number());
    }

    static byte what(byte[] key) {
        return key[PREFIX];
    }

    /** The place of a message in its journal. */
    static long place(byte[] key) {
        return ByteBuffer.wrap(key).getLong(PREFIX + 1);
    }

    static StreamId stream(byte[] key) {
        ByteBuffer bytes = ByteBuffer.wrap(key);
        return new StreamId(bytes.getInt(PREFIX + 1), bytes.getLong(PREFIX + 1 + Integer.BYTES));
    }

    static long offset(byte[] key) {
        return ByteBuffer.wrap(key).getLong(PREFIX + 1 + STREAM_BYTES);
    }

    static byte[] expiry(long at, SessionKey session) {
        ByteBuffer start = ByteBuffer.allocate(1 + Long.BYTES + SESSION_BYTES)
                .put(EXPIRIES)
                .putLong(at);
        return put(start, session).array();
    }

    /** The first possible key of sessions that expire at this time or later. */
    static byte[] expiriesFrom(long at) {
        return ByteBuffer.allocate(1 + Long.BYTES).put(EXPIRIES).putLong(at).array();
    }

    static long expiresAt(byte[] expiry) {
        return ByteBuffer.wrap(expiry).getLong(1);
    }

    static SessionKey session(byte[] expiry) {
        return session(ByteBuffer.wrap(expiry).position(1 + Long.BYTES));
    }

    /** The session that a key, or its beginning, belongs to. */
    static SessionKey owner(byte[] key) {
        return session(ByteBuffer.wrap(key).position(1));
    }

    /** The first possible key of a session, behind the list of expiries. */
    static byte[] sessions() {
        return new byte[] {SESSIONS};
    }

    static byte[] afterSessions() {
        return new byte[] {SESSIONS + 1};
    }

    /** The beginning of a session's keys as a number of 64 bits, in their order. */
    static BigInteger name(byte[] key) {
        return new BigInteger(1, Arrays.copyOfRange(key, 1, 1 + Long.BYTES));
    }

    /** The first possible key of the sessions with this name. */
    static byte[] named(BigInteger name) {
        return ByteBuffer.allocate(1 + Long.BYTES)
                .put(SESSIONS)
                .putLong(name.longValue())
                .array();
    }

    private static SessionKey session(ByteBuffer bytes) {
        return new SessionKey(bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong());
    }
}

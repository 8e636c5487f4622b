package dev.holdfast.upstream;

import dev.holdfast.ByteBudget;
import dev.holdfast.LogThrottle;
import dev.holdfast.client.NotTakenException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many bytes of all sessions' messages may wait for an upstream together, from the moment when they are handed over until they are
 * answered or given up. As long as that is not reached, one more message finds room, whatever its size. Short ones find a quarter more
 * than others, so that they get through where large ones fill the room. Thread-safe.
 */
final class RequestRoom {
    /** A message of so many bytes is short. */
    static final int SHORT = 64 << 10;

    private static final Logger log = LoggerFactory.getLogger(RequestRoom.class);
    private static final int MOST_LINES = 3;

    private final long limit;
    private final AtomicLong taken = new AtomicLong();
    private final LogThrottle full = new LogThrottle(MOST_LINES, System::nanoTime);

    /** A room as large as that for messages from servers. */
    RequestRoom(ByteBudget budget) {
        this.limit = budget.reserve();
        budget.count(this, taken::get);
    }

    /** What the messages of one session take. */
    final class OfSession {
        private long held;
        private boolean closed;

        /** Takes room for a message; empty if there is none. */
        Optional<Share> take(int bytes) {
            return RequestRoom.this.take(bytes) ? Optional.of(share(bytes)) : Optional.empty();
        }

        /** Takes room for a message though there is none: others must not keep it from being sent. */
        Share takeAnyway(int bytes) {
            taken.addAndGet(bytes);
            return share(bytes);
        }

        /** What was taken for a message; nothing from the end of the session on. */
        private synchronized Share share(int bytes) {
            int kept = closed ? 0 : bytes;
            held += kept;
            taken.addAndGet(kept - bytes);
            return new Share(this, kept);
        }

        private synchronized void give(Share share) {
            if (!share.given && !closed) {
                held -= share.bytes;
                taken.addAndGet(-share.bytes);
            }
            share.given = true;
        }

        /** The session has ended, and its messages with it: gives back what they hold, and takes no more. */
        synchronized void close() {
            closed = true;
            taken.addAndGet(-held);
            held = 0;
        }

        /** Tells the log of a request for which there was no room, and returns why it is not sent. */
        NotTakenException refusal(String session) {
            full.write(more -> log.warn(
                    "session {}: a request is not sent: {} bytes wait for the upstream already{}",
                    session,
                    taken.get(),
                    more));
            return new NotTakenException("requests of all clients that wait for it have the " + limit
                    + " bytes that they may have together");
        }
    }

    /** What one message has taken. */
    static final class Share {
        private final OfSession session;
        private final int bytes;
        private boolean given;

        private Share(OfSession session, int bytes) {
            this.session = session;
            this.bytes = bytes;
        }

        /** Gives it back; once, however often this is called. */
        void give() {
            session.give(this);
        }
    }

    /** The part of a session that has no messages. */
    OfSession ofSession() {
        return new OfSession();
    }

    private boolean take(int bytes) {
        long most = bytes <= SHORT ? limit + limit / 4 : limit;
        long before = taken.getAndUpdate(now -> now < most ? now + bytes : now);
        return before < most;
    }

    /** How many bytes are taken. */
    long taken() {
        return taken.get();
    }
}

package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.LogThrottle;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who called what: at INFO a line for each session that is opened, that comes from the store and that ends, at DEBUG one for each call.
 * Its logger has a name of its own, so that its lines can be sent elsewhere or switched off; while it is off, no message is parsed for it.
 * Text that a client or an identity provider has chosen is quoted, cut, and escaped.
 */
final class AccessLog {
    private static final Logger logger = LoggerFactory.getLogger("dev.holdfast.access");
    /** Clients cause these lines by opening sessions: enough for a busy node, too few to fill a disk. */
    private static final int MOST_LINES = 1_000;

    private static final int MOST_CHARS = 64;
    private static final String TOOLS_CALL = "tools/call";

    /** How a line names the server; empty where there are no others. */
    private final String server;

    private final LogThrottle begun;
    private final LogThrottle ended;

    /** A session, as its lines tell of it at one moment. */
    record Subject(
            String shortId,
            String revision,
            String principal,
            boolean listensOnly,
            MessageFactory.Client client,
            int calls,
            long since,
            long now) {}

    AccessLog(String server, LongSupplier clock) {
        this.server = server.isEmpty() ? "" : " server=" + quoted(server);
        this.begun = new LogThrottle(MOST_LINES, clock);
        this.ended = new LogThrottle(MOST_LINES, clock);
    }

    /**
     * A session begins whose client is known.
     *
     * @param how as a word: opened, joined, or returned
     */
    void begins(Supplier<Subject> session, String how) {
        if (logger.isInfoEnabled()) {
            begun.write(more -> {
                Subject subject = session.get();
                logger.info(
                        "session {}: {} {} protocol={} over={}{}",
                        subject.shortId,
                        how,
                        who(subject),
                        quoted(subject.revision),
                        subject.listensOnly ? "http+sse" : "http",
                        more);
            });
        }
    }

    /**
     * A session has ended.
     *
     * @param before its state until then
     */
    void ended(Supplier<Subject> session, EndReason why, String because, State before) {
        if (logger.isInfoEnabled()) {
            Subject subject = session.get();
            if (subject.revision.isEmpty()) {
                // anybody who can reach the port can open one over HTTP+SSE, and leave
                logger.debug("session {}: ended {} without a client", subject.shortId, coded(why));
                return;
            }
            ended.write(more -> logger.info(
                    "session {}: ended {} age={} unused={} calls={} {}: {}{}",
                    subject.shortId,
                    coded(why),
                    seconds(subject.now - subject.since),
                    seconds(subject.now - before.since()),
                    subject.calls,
                    who(subject),
                    because,
                    more));
        }
    }

    void endedInStore(String shortId, String principal, EndReason why, String because) {
        ended.write(more -> logger.info(
                "session {}: ended in the store {} principal={}: {}{}",
                shortId,
                coded(why),
                who(principal),
                because,
                more));
    }

    private static String coded(EndReason why) {
        return "reason=" + why.name().toLowerCase(Locale.ROOT).replace('_', '-') + " code=" + why.code();
    }

    private static String seconds(long nanos) {
        return Duration.ofNanos(nanos).toSeconds() + "s";
    }

    private String who(Subject subject) {
        return "client=" + quoted(subject.client.name()) + " version=" + quoted(subject.client.version())
                + " principal=" + who(subject.principal);
    }

    /** The principal, and of which server's sessions one is its. */
    private String who(String principal) {
        return quoted(principal) + server;
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().limit(MOST_CHARS).forEach(c -> {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append((char) c);
            } else if (isPrinted(c)) {
                quoted.appendCodePoint(c);
            } else {
                quoted.append("\\u{").append(Integer.toHexString(c)).append('}');
            }
        });
        boolean cut = text.codePoints().skip(MOST_CHARS).findAny().isPresent();
        return quoted.append(cut ? "...\"" : "\"").toString();
    }

    private static boolean isPrinted(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.SURROGATE,
                    Character.UNASSIGNED -> false;
            default -> true;
        };
    }

    static boolean tellsCalls() {
        return logger.isDebugEnabled();
    }

    /**
     * A request goes to its backend.
     *
     * @param other who follows it too
     */
    CallWatch follow(
            String shortId,
            String principal,
            MessageFactory messages,
            LongSupplier clock,
            InboundMessage request,
            boolean again,
            CallWatch other) {
        boolean tool = request.method().equals(TOOLS_CALL);
        String what =
                "method=" + quoted(request.method()) + (tool ? " tool=" + quoted(messages.name(request.bytes())) : "");
        return new Followed(
                shortId, what, who(principal), again, messages, clock, clock.getAsLong(), new AtomicInteger(), other);
    }

    /** Writes the line of a request when that is over. */
    private record Followed(
            String shortId,
            String what,
            String who,
            boolean again,
            MessageFactory messages,
            LongSupplier clock,
            long began,
            AtomicInteger resumed,
            CallWatch other)
            implements CallWatch {
        private void over(String outcome) {
            logger.debug(
                    "session {}: call {} outcome={} took={}ms resumed={} rerun={} principal={}",
                    shortId,
                    what,
                    outcome,
                    Duration.ofNanos(clock.getAsLong() - began).toMillis(),
                    resumed,
                    again,
                    who);
        }

        @Override
        public Scope enter() {
            return other.enter();
        }

        @Override
        public void attached(Attachment how) {
            if (how == Attachment.RESUMED || how == Attachment.GAP) {
                resumed.incrementAndGet();
            }
            other.attached(how);
        }

        @Override
        public void detached() {
            other.detached();
        }

        @Override
        public void answered(OutboundMessage answer) {
            try {
                String fault = messages.fault(answer);
                if (answer.kind() == EventKind.ERROR) {
                    over("failed code=" + quoted(fault));
                } else {
                    over(fault.isEmpty() ? "answered" : fault);
                }
            } finally {
                other.answered(answer);
            }
        }

        @Override
        public void cancelled() {
            over("cancelled");
            other.cancelled();
        }

        @Override
        public void lost() {
            over("lost");
            other.lost();
        }
    }
}

package dev.holdfast.it;

import dev.holdfast.it.HostileRequest.Ending;
import dev.holdfast.it.HostileRequest.Length;
import dev.holdfast.it.HostileWire.Answer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A client that sends hostile requests as fast as it can: several in one write, and the next when all of them are answered. It
 * keeps a connection as long as the server does, or until it has spoiled it. For one thread.
 */
final class HostileClient implements AutoCloseable {
    private static final int AT_ONCE = 16;
    private static final int MOST_BYTES = 48 << 10;
    private static final int PREY_EVERY = 40;
    private static final Pattern EVENT_ID = Pattern.compile("(?m)^id: ([^\r\n]+)");

    private final int port;
    private final HostileLoot loot;
    private final HostileGrammar grammar;
    private final HostileReport report;
    private final AtomicLong next;
    private final long end;
    private final boolean hunts;
    private @Nullable HostileWire wire;
    private @Nullable RawSseSession prey;
    private List<Shot> unanswered = List.of();
    private int volleys;

    /**
     * A client that takes seeds from a common counter.
     *
     * @param end where the counter stops
     * @param hunts whether it opens sessions whose ids are used by all
     */
    HostileClient(int port, HostileLoot loot, HostileReport report, AtomicLong next, long end, boolean hunts) {
        this.port = port;
        this.loot = loot;
        this.grammar = new HostileGrammar(loot, port);
        this.report = report;
        this.next = next;
        this.end = end;
        this.hunts = hunts;
    }

    /** A request, and the seed that made it. */
    record Shot(long seed, HostileRequest request) {}

    void run() throws IOException {
        while ((next.get() < end || !unanswered.isEmpty()) && !report.full()) {
            if (hunts && volleys++ % PREY_EVERY == 0) {
                hunt();
            }
            List<Shot> volley = volley();
            try {
                fire(volley);
            } catch (SocketTimeoutException e) {
                report.fault("nothing came in time", volley, Optional.empty());
                drop();
            } catch (SocketException e) {
                // the server has closed a connection while something was on its way: that is its right
                drop();
            } catch (IOException | RuntimeException e) {
                if (volley.get(volley.size() - 1).request().goodHead) {
                    report.fault(e.toString(), volley, Optional.empty());
                }
                drop();
            }
        }
    }

    private void hunt() {
        try {
            loot.session(RawSession.open(port).id());
            if (prey != null) {
                prey.close();
            }
            prey = RawSseSession.open(port);
            loot.sseSession(prey.id());
        } catch (AssertionError | RuntimeException e) {
            report.fault("a session could not be opened: " + e, List.of(), Optional.empty());
        }
    }

    private List<Shot> volley() {
        List<Shot> volley = new ArrayList<>(unanswered);
        unanswered = List.of();
        int bytes = 0;
        while (volley.size() < AT_ONCE && bytes < MOST_BYTES && !ends(volley)) {
            long seed = next.getAndIncrement();
            if (seed >= end) {
                break;
            }
            HostileRequest request = grammar.request(seed);
            bytes += request.body.length();
            volley.add(new Shot(seed, request));
        }
        return volley;
    }

    private static boolean ends(List<Shot> volley) {
        return !volley.isEmpty() && volley.get(volley.size() - 1).request().last();
    }

    private void fire(List<Shot> volley) throws IOException {
        if (volley.isEmpty()) {
            return;
        }
        HostileWire to = wire();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        volley.forEach(shot -> bytes.writeBytes(shot.request().bytes()));
        to.write(bytes.toByteArray());
        Ending ending = volley.get(volley.size() - 1).request().ending;
        switch (ending) {
            case READ -> read(to, volley);
            case HALF_CLOSE -> {
                // a container that sees the end while it still waits for a chunk need not hand on what it has
                volley.stream()
                        .map(Shot::request)
                        .filter(request -> request.length == Length.CHUNKED)
                        .forEach(request -> request.goodHead = false);
                to.halfClose();
                read(to, volley);
                readOn(to, volley);
                drop();
            }
            case FIN -> {
                report.sent(volley.size());
                drop();
            }
            case RST -> {
                report.sent(volley.size());
                to.reset();
                drop();
            }
        }
    }

    /** Reads the answers; what the server has closed the connection before is sent again with the next volley. */
    private void read(HostileWire from, List<Shot> volley) throws IOException {
        for (int i = 0; i < volley.size(); i++) {
            Shot shot = volley.get(i);
            report.sent(1);
            unanswered = volley.subList(i + 1, volley.size());
            Optional<Answer> answer = from.answer(shot.request().method);
            if (answer.isEmpty()) {
                drop();
                return;
            }
            judge(shot, answer.get());
            if (answer.get().endless() || answer.get().closes()) {
                drop();
                return;
            }
        }
    }

    /** What was meant as one request may be several to the server. */
    private void readOn(HostileWire from, List<Shot> volley) throws IOException {
        Shot last = volley.get(volley.size() - 1);
        Optional<Answer> answer = wire == null ? Optional.empty() : from.answer(last.request().method);
        while (answer.isPresent() && !answer.get().endless()) {
            judge(last, answer.get());
            answer = from.answer(last.request().method);
        }
    }

    private void judge(Shot shot, Answer answer) {
        report.answered(answer.status());
        HostileJudge.fault(shot.request(), answer)
                .ifPresent(fault -> report.fault(fault, List.of(shot), Optional.of(answer)));
        answer.header("mcp-session-id").ifPresent(loot::session);
        if (answer.type().startsWith("text/event-stream")) {
            Matcher ids = EVENT_ID.matcher(answer.body());
            while (ids.find()) {
                loot.event(ids.group(1).substring(ids.group(1).indexOf('.') == 43 ? 44 : 0));
            }
        }
    }

    private HostileWire wire() throws IOException {
        if (wire == null) {
            wire = new HostileWire(port);
        }
        return wire;
    }

    private void drop() throws IOException {
        if (wire != null) {
            wire.close();
            wire = null;
        }
    }

    @Override
    public void close() throws IOException {
        drop();
        if (prey != null) {
            prey.close();
        }
    }
}

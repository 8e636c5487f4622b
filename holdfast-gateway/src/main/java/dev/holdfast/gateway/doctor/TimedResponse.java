package dev.holdfast.gateway.doctor;

import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.SseParser;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** A response, and when what of it came. Whatever comes is read at once, whether anybody asks or not. Thread-safe. */
final class TimedResponse {
    /** How it is with a response. */
    private enum State {
        OPEN,
        IN_ORDER,
        BROKEN,
        LEFT
    }

    /**
     * An event, or the one message of a body without events.
     *
     * @param after when it came, counted from the request
     */
    record Arrival(SseEvent event, Optional<Envelope> message, Duration after) {
        private boolean isProgress() {
            return message.filter(each -> each.method().equals("notifications/progress"))
                    .isPresent();
        }

        private boolean answers(int id) {
            return message.filter(each -> each.kind() == Envelope.Kind.RESPONSE || each.kind() == Envelope.Kind.ERROR)
                    .flatMap(Envelope::id)
                    .filter(each -> each.token().equals(Integer.toString(id)))
                    .isPresent();
        }
    }

    /** What a hop answers that has waited for too long, or lost the hop behind it. */
    private static final Set<Integer> GIVEN_UP = Set.of(408, 502, 503, 504);

    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    /** What is kept of a response: a server may talk for as long as it is watched. */
    private static final int MOST_BYTES = 16 << 20;

    private static final int MOST_EVENTS = 5_000;

    /** Bytes that come closer together have come in one piece. */
    static final Duration APART = Duration.ofMillis(30);
    /** From so many gaps on, none much longer than the others, a response has a rhythm. */
    private static final int RHYTHM = 4;
    /** The head of a gzip file, which a compressor may send at once, and hold back all that follows. */
    private static final int GZIP_HEAD = 10;

    private final long begun = System.nanoTime();
    private final SseParser parser = new SseParser(MOST_BYTES, this::arrived);
    private final List<Arrival> arrivals = new ArrayList<>();
    private Optional<ResponseInfo> head = Optional.empty();
    private final Inflater inflater = new Inflater(true);
    private int gzipHead = GZIP_HEAD;
    private int kept;
    private Optional<String> lastId = Optional.empty();
    private Duration lastByte = Duration.ZERO;
    private Duration longestSilence = Duration.ZERO;
    private Duration longestGap = Duration.ZERO;
    private Duration allGaps = Duration.ZERO;
    private int gaps;
    private Duration end = Duration.ZERO;
    private State state = State.OPEN;
    private String failure = "";
    private Optional<Duration> firstByte = Optional.empty();
    private final CompletableFuture<Runnable> leave = new CompletableFuture<>();

    private TimedResponse() {}

    /** Sends a request, and does not wait. */
    static TimedResponse to(HttpRequest request, HttpClient http) {
        TimedResponse response = new TimedResponse();
        CompletableFuture<?> exchange = http.sendAsync(request, info -> {
            response.headCame(info);
            return BodySubscribers.ofByteArrayConsumer(part -> part.ifPresentOrElse(response::took, response::ended));
        });
        CompletableFuture<?> unused = exchange.whenComplete((whole, cause) -> {
            if (cause != null) {
                response.over(State.BROKEN, cause.toString());
            }
        });
        response.leave.complete(() -> exchange.cancel(true));
        return response;
    }

    private synchronized void headCame(ResponseInfo info) {
        head = Optional.of(info);
        touched();
    }

    /** An end in order does not look different from a cut where a body has no length and no chunks. */
    private synchronized void ended() {
        boolean marked = isHttp2()
                || !isStream()
                || header("Transfer-Encoding")
                        .or(() -> header("Content-Length"))
                        .isPresent();
        over(marked ? State.IN_ORDER : State.BROKEN, "it was closed, and nothing marks the end of its body");
    }

    private synchronized void took(byte[] part) {
        if (state != State.OPEN) {
            return;
        }
        Duration gap = touched();
        if (firstByte.isPresent() && gap.compareTo(APART) > 0) {
            gaps++;
            allGaps = allGaps.plus(gap);
            longestGap = gap.compareTo(longestGap) > 0 ? gap : longestGap;
        }
        try {
            if (header("Content-Encoding").filter("gzip"::equals).isPresent()) {
                inflate(part);
            } else {
                read(part, part.length);
            }
        } catch (OversizedEventException | DataFormatException e) {
            over(State.BROKEN, e.toString());
            cut();
        }
    }

    private void read(byte[] plain, int length) throws OversizedEventException {
        firstByte = firstByte.or(() -> Optional.of(lastByte));
        parser.read(ByteBuffer.wrap(plain, 0, length));
    }

    private void inflate(byte[] compressed) throws OversizedEventException, DataFormatException {
        int head = Math.min(gzipHead, compressed.length);
        gzipHead -= head;
        inflater.setInput(compressed, head, compressed.length - head);
        byte[] part = new byte[8192];
        for (int count = inflater.inflate(part); count > 0; count = inflater.inflate(part)) {
            read(part, count);
        }
    }

    /** Returns how long nothing had come. */
    private Duration touched() {
        Duration now = sinceBegin();
        Duration silence = now.minus(lastByte);
        longestSilence = silence.compareTo(longestSilence) > 0 ? silence : longestSilence;
        lastByte = now;
        notifyAll();
        return silence;
    }

    private synchronized void arrived(SseEvent event) {
        Optional<Envelope> message = ENVELOPES.read(event.data()) instanceof EnvelopeReader.Single single
                ? Optional.of(single.message())
                : Optional.empty();
        lastId = event.id().or(() -> lastId);
        arrivals.add(new Arrival(event, message, sinceBegin()));
        kept += event.data().length;
        while (kept > MOST_BYTES || arrivals.size() > MOST_EVENTS) {
            kept -= arrivals.remove(0).event().data().length;
        }
    }

    private synchronized void over(State how, String why) {
        if (state == State.OPEN) {
            parser.end();
            state = how;
            failure = why;
            end = sinceBegin();
            notifyAll();
        }
    }

    /** Closes the connection in the middle, without a word. */
    void cut() {
        over(State.LEFT, "");
        CompletableFuture<?> unused = leave.thenAccept(Runnable::run);
    }

    /** Waits until something is true of it; false if it is not by then. */
    synchronized boolean within(Duration time, Predicate<TimedResponse> condition) {
        long deadline = System.nanoTime() + time.toNanos();
        while (!condition.test(this)) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    private Duration sinceBegin() {
        return Duration.ofNanos(System.nanoTime() - begun);
    }

    synchronized boolean isOver() {
        return state != State.OPEN;
    }

    /** Whether the head is there, or will not come. */
    synchronized boolean hasHead() {
        return head.isPresent() || isOver();
    }

    /** When the first byte of its body came. */
    synchronized Optional<Duration> firstByte() {
        return firstByte;
    }

    synchronized boolean isInOrder() {
        return state == State.IN_ORDER && isGood();
    }

    /** Whether something broke it that was not us: its connection ended, or a hop has given up waiting for its head. */
    synchronized boolean isBroken() {
        return state == State.BROKEN || GIVEN_UP.contains(status());
    }

    /** Whether its head says that there is no such response, be it late. */
    synchronized boolean isRefused() {
        return head.isPresent() && !isGood() && !isBroken();
    }

    /** The status; 0 while no head has come. */
    synchronized int status() {
        return head.map(ResponseInfo::statusCode).orElse(0);
    }

    boolean isGood() {
        return status() / 100 == 2;
    }

    synchronized boolean isHttp2() {
        return head.filter(info -> info.version() == HttpClient.Version.HTTP_2).isPresent();
    }

    synchronized Optional<String> header(String name) {
        return head.flatMap(info -> info.headers().firstValue(name));
    }

    boolean isStream() {
        return header("Content-Type").orElse("").startsWith("text/event-stream");
    }

    /** The status, or what failed before there was one. */
    synchronized String outcome() {
        String none = state == State.OPEN ? "no answer" : "the connection broke: " + failure;
        return head.map(info -> Integer.toString(info.statusCode())).orElse(none);
    }

    /** How old it is, or became. */
    synchronized Duration age() {
        return state == State.OPEN ? sinceBegin() : end;
    }

    /** What is allowed for lateness must not hide what is looked for. */
    private static Duration atMost(Duration late, Duration most) {
        return late.compareTo(most) < 0 ? late : most;
    }

    /**
     * Whether it became as old as another one, but for a tenth.
     *
     * @param late by how much each of them may have been seen to end too late
     */
    boolean isAbout(Duration other, Duration late) {
        return Math.abs(age().toMillis() - other.toMillis())
                <= Math.max(200, other.toMillis() / 10)
                        + atMost(late, other.dividedBy(2)).toMillis();
    }

    /** Whether bytes of its body came before its end. */
    synchronized boolean isLive() {
        return firstByte.isPresent() && (state == State.OPEN || silence().compareTo(APART) > 0);
    }

    /** How long nothing has come, or had come when it ended. */
    synchronized Duration silence() {
        return age().minus(lastByte);
    }

    /** The longest time without a byte that it has survived. */
    synchronized Duration longestSilence() {
        return longestSilence;
    }

    /**
     * Whether the time without a byte at its end is one that it had survived before: then another limit has ended it.
     *
     * @param late by how much its end may have been seen too late
     */
    synchronized boolean livedThroughItsLastSilence(Duration late) {
        Duration survived = longestSilence.multipliedBy(5).dividedBy(4).plusMillis(100);
        return silence().compareTo(survived.plus(atMost(late, silence().dividedBy(4)))) <= 0;
    }

    /**
     * Whether it is open, and nothing comes any more though its bytes came in a rhythm.
     *
     * @param late by how much a byte may have been seen too late
     */
    synchronized boolean hangs(Duration late) {
        if (state != State.OPEN || gaps < RHYTHM) {
            return false;
        }
        Duration mean = allGaps.dividedBy(gaps);
        return longestGap.compareTo(mean.multipliedBy(2).plus(atMost(late, mean))) <= 0
                && silence().compareTo(longestGap.multipliedBy(3).plusSeconds(1)) > 0;
    }

    synchronized List<Arrival> arrivals() {
        return List.copyOf(arrivals);
    }

    synchronized Optional<Arrival> answer(int id) {
        return arrivals.stream().filter(each -> each.answers(id)).findFirst();
    }

    synchronized List<Arrival> progress() {
        return arrivals.stream().filter(Arrival::isProgress).toList();
    }

    synchronized List<String> ids() {
        return arrivals.stream().flatMap(each -> each.event().id().stream()).toList();
    }

    /** The last event id that it gave; empty where there is none. */
    synchronized Optional<String> lastId() {
        return lastId;
    }

    /** Whether its first event does nothing but give an id, so that there is one to come back with at once. */
    synchronized boolean isPrimed() {
        return !arrivals.isEmpty()
                && arrivals.get(0).event().id().isPresent()
                && arrivals.get(0).event().data().length == 0;
    }
}

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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

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

    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    private static final int MOST_BYTES = 16 << 20;
    /** A server may talk for as long as it is watched. */
    private static final int MOST_EVENTS = 20_000;

    /** What is shorter is no rhythm, but what the machine makes of it. */
    private static final Duration RHYTHM = Duration.ofMillis(300);

    private final long begun = System.nanoTime();
    private final SseParser parser = new SseParser(MOST_BYTES, this::arrived);
    private final List<Arrival> arrivals = new ArrayList<>();
    private Optional<ResponseInfo> head = Optional.empty();
    private Duration lastByte = Duration.ZERO;
    private Duration longestSilence = Duration.ZERO;
    private Duration end = Duration.ZERO;
    private State state = State.OPEN;
    private String failure = "";
    private boolean body;
    private Runnable leave = () -> {};

    private TimedResponse() {}

    /** Sends a request, and does not wait. */
    static TimedResponse to(HttpRequest request, HttpClient http) {
        TimedResponse response = new TimedResponse();
        CompletableFuture<?> exchange = http.sendAsync(request, info -> {
            response.headCame(info);
            return BodySubscribers.fromSubscriber(response.new Body());
        });
        response.leaveBy(() -> exchange.cancel(true));
        CompletableFuture<?> unused = exchange.whenComplete((whole, cause) -> {
            if (cause != null) {
                response.over(State.BROKEN, cause.toString());
            }
        });
        return response;
    }

    /** Takes the body as it comes. */
    private final class Body implements Flow.Subscriber<List<ByteBuffer>> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            leaveBy(subscription::cancel);
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            took(buffers);
        }

        @Override
        public void onError(Throwable cause) {
            over(State.BROKEN, cause.toString());
        }

        @Override
        public void onComplete() {
            over(State.IN_ORDER, "");
        }
    }

    private synchronized void leaveBy(Runnable another) {
        Runnable before = leave;
        leave = () -> {
            before.run();
            another.run();
        };
        if (state == State.LEFT) {
            another.run();
        }
    }

    private synchronized void headCame(ResponseInfo info) {
        head = Optional.of(info);
        touched();
    }

    private synchronized void took(List<ByteBuffer> buffers) {
        touched();
        body = true;
        try {
            for (ByteBuffer each : buffers) {
                parser.read(each);
            }
        } catch (OversizedEventException e) {
            over(State.BROKEN, e.toString());
        }
    }

    private void touched() {
        Duration now = sinceBegin();
        if (now.minus(lastByte).compareTo(longestSilence) > 0) {
            longestSilence = now.minus(lastByte);
        }
        lastByte = now;
        notifyAll();
    }

    private synchronized void arrived(SseEvent event) {
        if (arrivals.size() < MOST_EVENTS) {
            Optional<Envelope> message = ENVELOPES.read(event.data()) instanceof EnvelopeReader.Single single
                    ? Optional.of(single.message())
                    : Optional.empty();
            arrivals.add(new Arrival(event, message, sinceBegin()));
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
        Runnable how;
        synchronized (this) {
            how = leave;
        }
        how.run();
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

    /** Whether the first byte of its body has come. */
    synchronized boolean hasBody() {
        return body;
    }

    synchronized boolean isInOrder() {
        return state == State.IN_ORDER;
    }

    /** Whether something broke it that was not us: its connection ended, or a hop has given up waiting for its head. */
    synchronized boolean isBroken() {
        return state == State.BROKEN || status() == 408 || status() == 502 || status() == 504;
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

    /** Whether it became as old as another one, but for a tenth. */
    boolean isAbout(Duration other) {
        return Math.abs(age().toMillis() - other.toMillis()) <= Math.max(200, other.toMillis() / 10);
    }

    /** How long nothing has come, or had come when it ended. */
    synchronized Duration silence() {
        return age().minus(lastByte);
    }

    /** The longest time without a byte that it has survived. */
    synchronized Duration longestSilence() {
        return longestSilence;
    }

    /** Whether the time without a byte at its end is one that it had survived before: then another limit has ended it. */
    synchronized boolean livedThroughItsLastSilence() {
        return silence().compareTo(longestSilence.multipliedBy(5).dividedBy(4).plusMillis(100)) <= 0;
    }

    /** Whether it is open, and nothing comes any more though something came in a rhythm. */
    synchronized boolean hangs() {
        return state == State.OPEN
                && longestSilence.compareTo(RHYTHM) > 0
                && silence().compareTo(longestSilence.multipliedBy(3)) > 0;
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
    Optional<String> lastId() {
        List<String> ids = ids();
        return ids.isEmpty() ? Optional.empty() : Optional.of(ids.get(ids.size() - 1));
    }

    /** Whether its first event does nothing but give an id, so that there is one to come back with at once. */
    synchronized boolean isPrimed() {
        return !arrivals.isEmpty()
                && arrivals.get(0).event().id().isPresent()
                && arrivals.get(0).event().data().length == 0;
    }
}

package dev.holdfast.client.wire;

import dev.holdfast.ByteBudget;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The body of a stream of events. What was read is handed over before more is read, so a slow handler slows the server down and
 * nothing piles up here. A silence longer than the watch allows breaks the stream.
 */
final class StreamBody implements BodySubscriber<ExchangeEnd> {
    private final Means means;
    private final HeartbeatWatch watch;
    private final Beats beats;
    private final StreamHandler handler;
    private final SseParser parser;
    private final ByteBudget.Reader room;
    private final Queue<SseEvent> events = new ArrayDeque<>();
    /** Completes when the stream has ended and everything that came was handed over. */
    private final CompletableFuture<ExchangeEnd> end = new CompletableFuture<>();
    /** The first cause of the end. What is told later came of it: some senders tell of a cancellation while it is made. */
    private final AtomicReference<@Nullable ExchangeEnd> how = new AtomicReference<>();

    private volatile CompletableFuture<Void> handover = CompletableFuture.completedFuture(null);
    private final AtomicReference<@Nullable ScheduledFuture<?>> check = new AtomicReference<>();
    private volatile Flow.@Nullable Subscription subscription;
    /** When the connection began to owe us bytes; zero while it is not read. */
    private volatile long waitingSince;

    /** The last byte has come: the connection may carry another exchange by now. */
    private volatile boolean read;

    /** Whether a part of an event has come whose rest has not. */
    private volatile boolean begun;

    private volatile boolean first = true;
    private long retry = -1;

    StreamBody(Means means, int messageBytes, HeartbeatWatch watch, StreamHandler handler) {
        this.means = means;
        this.watch = watch;
        this.beats = new Beats(watch);
        this.handler = handler;
        this.parser = new SseParser(messageBytes, events::add);
        this.room = means.reader(this::abort);
        end.whenComplete((ended, failure) -> room.close());
    }

    @Override
    public CompletionStage<ExchangeEnd> getBody() {
        return end;
    }

    @Override
    public void onSubscribe(Flow.Subscription started) {
        subscription = started;
        more();
    }

    /** Asks for the next bytes once there is room for them; until then the connection owes us nothing. */
    private void more() {
        room.hold(parser.kept(), this::ask);
    }

    private void ask() {
        Flow.Subscription open = subscription;
        if (open != null && !end.isDone()) {
            waitingSince = System.nanoTime() | 1;
            watchSilence();
            open.request(1);
        }
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        long silence = System.nanoTime() - waitingSince;
        waitingSince = 0;
        try {
            for (ByteBuffer buffer : buffers) {
                parser.read(buffer);
            }
        } catch (OversizedEventException e) {
            if (!events.isEmpty()) {
                handOver();
            }
            abort(e);
            return;
        }
        begun = parser.kept() > 0;
        learn(silence);
        parser.retry().ifPresent(this::stated);
        if (events.isEmpty()) {
            more();
        } else {
            handOver();
        }
    }

    private void learn(long silence) {
        boolean commented = parser.commented();
        beats.bytes(silence, commented, parser.betweenLines());
        if (first) {
            SseEvent head = events.peek();
            if (commented || (head != null && head.data().length == 0)) {
                watch.headBeforeMessage();
            }
            first = false;
        }
    }

    private void stated(long millis) {
        if (millis != retry) {
            retry = millis;
            handler.retry(millis);
        }
    }

    private void handOver() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        handover = done;
        room.passing();
        try {
            means.delivery().execute(() -> next(done));
        } catch (RejectedExecutionException e) {
            abort(e);
            done.complete(null);
        }
    }

    /** Hands over one event after the other. */
    private void next(CompletableFuture<Void> done) {
        for (SseEvent event = events.poll(); event != null; event = events.poll()) {
            CompletableFuture<Void> taken;
            try {
                taken = handler.event(event).toCompletableFuture();
            } catch (RuntimeException | Error e) {
                taken = CompletableFuture.failedFuture(e);
            }
            if (!taken.isDone() || taken.isCompletedExceptionally()) {
                taken.whenComplete((nothing, failure) -> goOn(failure, done));
                return;
            }
        }
        done.complete(null);
        room.give();
        more();
    }

    private void goOn(@Nullable Throwable failure, CompletableFuture<Void> done) {
        if (failure != null) {
            abort(failure);
            done.complete(null);
        } else {
            means.delivery().execute(() -> next(done));
        }
    }

    @Override
    public void onError(Throwable failure) {
        finish(new ExchangeEnd.StreamBroken(failure));
    }

    @Override
    public void onComplete() {
        read = true;
        // what came before may be on its way still, and goes on by itself
        if (parser.end()) {
            handOver();
        }
        finish(new ExchangeEnd.StreamEnded());
    }

    /**
     * Whether it is not read now, for there is no room or something is being handed over, or an event is on its way.
     *
     * @param nanos how long nothing may have come of such an event: a connection may die within one
     */
    boolean busy(long nanos) {
        long since = waitingSince;
        return since == 0 || (begun && System.nanoTime() - since < nanos);
    }

    /** Whether the last byte has come, though perhaps not everything was handed over. */
    boolean read() {
        return read;
    }

    /** Breaks the stream from this side. What is not handed over yet is given up if nobody wants it any more. */
    void abort(Throwable cause) {
        ExchangeEnd broken = new ExchangeEnd.StreamBroken(cause);
        boolean first = how.compareAndSet(null, broken);
        Flow.Subscription open = subscription;
        if (open != null && !read) {
            open.cancel();
        }
        if (cause instanceof AbortedException) {
            cancelCheck();
            end.complete(broken);
        } else if (first) {
            endBehindHandover(broken);
        }
    }

    private void finish(ExchangeEnd cause) {
        if (how.compareAndSet(null, cause)) {
            endBehindHandover(cause);
        }
    }

    private void endBehindHandover(ExchangeEnd cause) {
        cancelCheck();
        handover.whenComplete((nothing, failure) -> end.complete(cause));
    }

    private void watchSilence() {
        long limit = watch.streamLimit();
        if (limit != HeartbeatWatch.UNLIMITED && check.get() == null) {
            schedule(limit);
        }
    }

    private void schedule(long nanos) {
        ScheduledFuture<?> next = means.clock().schedule(this::checkSilence, nanos, TimeUnit.NANOSECONDS);
        check.set(next);
        if (end.isDone()) {
            cancelCheck();
        }
    }

    private void checkSilence() {
        if (end.isDone()) {
            return;
        }
        long limit = watch.streamLimit();
        long since = waitingSince;
        long silent = since == 0 ? 0 : System.nanoTime() - since;
        if (silent >= limit) {
            if (first) {
                watch.brokenInVain();
            }
            abort(new SilenceException(silent));
        } else {
            schedule(limit - silent);
        }
    }

    private void cancelCheck() {
        ScheduledFuture<?> pending = check.getAndSet(null);
        if (pending != null) {
            pending.cancel(false);
        }
    }
}

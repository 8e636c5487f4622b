package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.client.wire.SilenceException;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.io.EOFException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One stream of events over all connections that carry it: when a connection ends, the next one begins where it ended. One
 * connection at a time, so its parts run on one thread at a time.
 */
final class StreamLoop implements StreamHandler {
    private static final CompletionStage<Void> TAKEN = CompletableFuture.completedFuture(null);
    /** A connection that lasted so long was one, though nothing came on it; what it was silent at its end does not count. */
    private static final long PROOF_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How long the head of a stream that is resumed may take: what is missing is there, so there is nothing to wait for. */
    private static final Duration RESUMED_HEAD = Duration.ofSeconds(10);

    private final Link link;
    private final URI uri;
    private final Object context;
    private final StreamOwner owner;
    private final MessageBodies messages;
    private final Cursor cursor;
    private final StreamJudge judge;
    private final Retry retry;
    private final Lull lull;
    private long stated;
    /** Whether the server has stated it on this connection. */
    private boolean statedHere;

    private long connectedAt;
    private int connections;
    private boolean resumed;
    /** Why the last message that has come could not be read, if it could not. */
    private @Nullable Throwable unread;
    /** The cursor of this connection's request. */
    private Optional<String> askedFrom = Optional.empty();
    /** Whether anything has come on this connection. */
    private volatile boolean progressed;

    private volatile boolean stopped;
    private volatile @Nullable HttpExchange current;

    /** A stream at its start, which is not open. */
    StreamLoop(Link link, URI uri, Object context, StreamOwner owner) {
        this.link = link;
        this.uri = uri;
        this.context = context;
        this.owner = owner;
        this.messages = new MessageBodies(link.outage().watch(), owner);
        this.cursor = new Cursor(link.limits().resumable());
        this.judge = new StreamJudge(link, uri, context);
        this.lull = new Lull(link);
        this.retry = new Retry(link, this::open);
    }

    /** There was such a stream before: when it opens, what was sent meanwhile may be missing. */
    void comesLate() {
        connections = 1;
    }

    /** Asks for the stream from its cursor on. */
    void open() {
        if (stopped || owner.complete()) {
            stop();
            return;
        }
        Optional<String> from = cursor.last();
        link.get(uri, from, context).whenComplete((request, failure) -> {
            if (failure != null) {
                unreachable(failure, 0);
            } else {
                start(request, from.isPresent());
            }
        });
    }

    private void start(HttpRequest request, boolean resuming) {
        HttpExchange exchange = owner.opensAnew() ? link.listening(request, this) : link.answering(request, this);
        current = exchange;
        if (stopped) {
            return;
        }
        progressed = false;
        statedHere = false;
        askedFrom = cursor.last();
        resumed = resuming;
        if (resuming && !link.headsAtOnce()) {
            firstEvent(exchange).expect();
        }
        exchange.start(resuming ? RESUMED_HEAD.toNanos() : HeartbeatWatch.UNLIMITED)
                .thenAccept(end -> {
                    if (end instanceof ExchangeEnd.Answer answer) {
                        answered(answer, request, resuming);
                    } else if (end instanceof ExchangeEnd.NoAnswer none && resuming && ignored(none.cause())) {
                        notResumed(none.cause());
                    } else if (end instanceof ExchangeEnd.NoAnswer none) {
                        if (none.sent()) {
                            comesLate(); // it may have been open: some servers send no head before the first message
                        }
                        unreachable(none.cause(), 0);
                    } else {
                        cameApart(end);
                    }
                });
    }

    /** Some servers give ids and take them, and then leave the connection alone. One that is known to answer at once is only away. */
    private boolean ignored(Throwable cause) {
        return cause instanceof SilenceException
                && !link.headsAtOnce()
                && !link.taken().repeats();
    }

    /** A listening stream that is resumed in vain is missed soon; a call may take its time, but not longer than the patience. */
    private FirstEvent firstEvent(HttpExchange exchange) {
        Duration wait = owner.opensAnew() ? RESUMED_HEAD : link.limits().patience();
        return new FirstEvent(
                link, exchange, wait, () -> current == exchange && !progressed, () -> nothingCame(exchange));
    }

    private void nothingCame(HttpExchange exchange) {
        if (owner.opensAnew()) {
            forget();
            exchange.abort("the server does not resume the stream");
        } else {
            notResumed(new EOFException("nothing came on the stream that was resumed"));
        }
    }

    /** What follows comes without a place, and its ids may be those of before. */
    private void forget() {
        cursor.forget();
        link.taken().clear();
    }

    private void notResumed(Throwable cause) {
        if (stopped) {
            return;
        }
        if (owner.opensAnew()) {
            forget();
            owner.gap();
            open();
        } else {
            lose(nothingMore(new StreamLoss.NoCursor("the server does not resume it", cause)));
        }
    }

    @Override
    public void opened(HttpHeaders headers) {
        connectedAt = System.nanoTime();
        judge.opened();
        cursor.connected();
        retry.connected();
        HttpExchange exchange = current;
        if (resumed && exchange != null) {
            lull.watch(exchange);
        }
        if (connections++ > 0 && cursor.last().isEmpty()) {
            owner.gap();
        }
    }

    @Override
    public void retry(long millis) {
        stated = millis;
        statedHere = true;
    }

    @Override
    public CompletionStage<Void> event(SseEvent event) {
        progressed = true;
        if (stopped || !cursor.isNew(event, link.id())) {
            return TAKEN;
        }
        if (event.data().length > 0 && event.id().isPresent() && cursor.usable()) {
            // what has no place may be the same each time
            retry.succeeded();
        }
        return MessageBodies.in(event) ? message(event) : owner.other(event).thenRun(() -> cursor.passed(event));
    }

    private CompletionStage<Void> message(SseEvent event) {
        EnvelopeReader.Parsed body = MessageBodies.read(event.data());
        unread = null;
        if (body instanceof EnvelopeReader.Malformed malformed) {
            Throwable why = new UnreadableMessageException(malformed.message());
            unread = why;
            boolean ours = false;
            for (RequestId request : MessageBodies.answered(event.data())) {
                ours |= owner.unreadable(request, why);
            }
            if (ours) {
                link.outage().watch().failed(why);
                lose(new StreamLoss.Unreadable(why));
                return TAKEN;
            }
        }
        if (resumed && body instanceof EnvelopeReader.Single single && owner.leaves(single.message())) {
            link.taken().repeated();
            return TAKEN;
        }
        Supplier<CompletionStage<Void>> taking = () -> {
            lull.news();
            return messages.take(body);
        };
        lull.taking();
        CompletionStage<Void> taken =
                cursor.usable() ? link.taken().once(event, hashCode(), resumed, taking) : taking.get();
        return taken.thenRun(() -> cursor.passed(event)).whenComplete((nothing, failure) -> lull.taken());
    }

    /** A connection that carried the stream has ended; it is resumed unless nothing is missing. */
    void cameApart(ExchangeEnd end) {
        if (stopped || owner.complete()) {
            stop();
            return;
        }
        if (lull.hasEnded(current)) {
            retry.succeeded();
            link.later(Math.max(stated, Lull.pause()), this::open);
            return;
        }
        boolean inOrder = end instanceof ExchangeEnd.StreamEnded;
        boolean asksToBePolled = inOrder && statedHere;
        if (inOrder && unread != null && owner.ofOneRequest() && !(asksToBePolled && resumable())) {
            lose(unreadMessage(unread));
            return;
        }
        if (asksToBePolled && (cursor.last().isPresent() || owner.opensAnew())) {
            retry.poll(stated, !cursor.last().equals(askedFrom));
            return;
        }
        Optional<SilenceException> silence =
                end instanceof ExchangeEnd.StreamBroken broken && broken.cause() instanceof SilenceException mute
                        ? Optional.of(mute)
                        : Optional.empty();
        long silent = silence.map(SilenceException::nanos).orElse(0L);
        if (System.nanoTime() - connectedAt - silent > PROOF_NANOS) {
            retry.succeeded();
        }
        Throwable cause = new EOFException("the server ended the stream");
        if (end instanceof ExchangeEnd.StreamBroken broken) {
            cause = broken.cause();
            if (cause instanceof OversizedEventException oversized) {
                oversized(oversized);
                return;
            }
            retry.broke(cause);
        }
        if (silence.isPresent()) {
            owner.silent();
        }
        if (inOrder && cursor.last().isEmpty() && !owner.opensAnew()) {
            lose(new StreamLoss.NoAnswer("its stream ended, and no response had come on it", cause));
        } else if (cursor.last().isEmpty() && !owner.opensAnew()) {
            lose(new StreamLoss.NoCursor("its connection ended, and its events had no ids", cause));
        } else {
            later(cause, 0);
        }
    }

    /** Where the server has nothing more on the stream of a request, what could not be read was its answer. */
    private StreamLoss nothingMore(StreamLoss loss) {
        Throwable why = unread;
        return why != null && owner.ofOneRequest() ? unreadMessage(why) : loss;
    }

    private static StreamLoss unreadMessage(Throwable why) {
        return new StreamLoss.NoAnswer(String.valueOf(why.getMessage()), why);
    }

    /** The stream goes on behind the message that cannot be taken, if that has a place. */
    private void oversized(OversizedEventException oversized) {
        if (owner.opensAnew()) {
            oversized.id().ifPresentOrElse(cursor::skip, cursor::forget);
            link.outage().watch().failed(oversized);
            owner.gap();
            later(oversized, 0);
        } else {
            lose(new StreamLoss.Unreadable(oversized));
        }
    }

    private void answered(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        if (!stopped) {
            judge.judge(answer, request, resuming).thenAccept(this::act);
        }
    }

    private void act(StreamVerdict verdict) {
        if (verdict instanceof StreamVerdict.OpenAgain) {
            open();
        } else if (verdict instanceof StreamVerdict.Later wait) {
            unreachable(wait.cause(), wait.millis());
        } else if (verdict instanceof StreamVerdict.NoPlace none && !owner.opensAnew()) {
            lose(nothingMore(none.loss()));
        } else if (verdict instanceof StreamVerdict.Lost lost) {
            lose(lost.loss());
        } else {
            forget();
            open();
        }
    }

    private void unreachable(Throwable cause, long wait) {
        if (!stopped) {
            retry.broke(cause);
            later(cause, wait);
        }
    }

    private void later(Throwable cause, long wait) {
        if (!retry.again(Math.max(wait, stated))) {
            lose(new StreamLoss.GivenUp(cause));
        }
    }

    private void lose(StreamLoss loss) {
        if (!stopped) {
            stop();
            owner.lost(loss);
        }
    }

    /** Whether there is a place to resume it from. */
    boolean resumable() {
        return !stopped && cursor.last().isPresent();
    }

    /** Ends the connection that was opened for it, so that it is resumed on another. */
    void interrupt() {
        HttpExchange open = current;
        if (open != null) {
            open.abort("the server was silent on another connection");
        }
    }

    /** Whether no connection carries it that was opened for it. */
    boolean idle() {
        HttpExchange open = current;
        return open == null || open.end().isDone();
    }

    /** Ends the stream on this side. */
    void stop() {
        stopped = true;
        retry.stop();
        HttpExchange open = current;
        if (open != null) {
            open.abort("the stream is not wanted any more");
        }
    }
}

package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * One message on its way to the server, over as many requests as that takes, and the stream that answers it. A request whose fate is
 * unknown is sent again only if that is harmless.
 */
final class Posting implements StreamOwner, StreamHandler {
    /** How often something has to be heard of a request whose answer can come on the listening stream only. */
    private static final long LONGEST_WAIT_MILLIS = 30_000;

    private static final int ACCEPTED = 202;

    private final Link link;
    private final URI uri;
    private final Envelope message;
    private final Object context;
    private final StreamSink sink;
    private final Response response;
    private final Sending sending = new Sending();
    private final PostJudge judge;
    private final Retry retry;
    private final PostFate fate;
    private final Carrier carrier;
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private volatile boolean cancelled;

    /**
     * A message that was not sent yet.
     *
     * @param repeatable whether it may be sent again when its fate is unknown
     * @param told what was told of its progress
     * @param sink takes what comes on its stream
     */
    Posting(
            Link link,
            URI uri,
            Envelope message,
            boolean repeatable,
            Object context,
            ToldProgress told,
            StreamSink sink) {
        this.link = link;
        this.uri = uri;
        this.message = message;
        this.context = context;
        this.sink = sink;
        this.response = new Response(message, told, sink, () -> end(new Outcome.Done()));
        this.judge = new PostJudge(link, uri, message, sending, context);
        this.retry = new Retry(link, this::send);
        this.fate = new PostFate(message, repeatable, retry, sending, () -> cancelled);
        this.carrier = new Carrier(link, new StreamLoop(link, uri, context, this));
    }

    /** What becomes of the message. */
    CompletableFuture<Outcome> outcome() {
        return outcome;
    }

    /** Sends it. */
    void send() {
        response.ask(this::attempt);
    }

    private void attempt() {
        if (givenUp()) {
            return;
        }
        if (sending.perhapsSent()) {
            response.told().runsAgain();
        }
        link.post(uri, message.bytes(), context).whenComplete((request, failure) -> {
            if (failure != null) {
                finish(fate.notSent(failure));
            } else {
                start(request);
            }
        });
    }

    private void start(HttpRequest request) {
        if (givenUp()) {
            return;
        }
        carrier.prepare(new StreamLoop(link, uri, context, this));
        HttpExchange exchange = link.answering(request, this);
        carrier.sent(exchange);
        if (!outcome.isDone() && sending.begins()) {
            judge.sent();
            exchange.start().thenAccept(end -> ended(end, request));
        } else {
            link.loss().ifPresent(this::sessionLost);
        }
    }

    /** Whether nobody wants it any more, and it need not be sent. */
    private boolean givenUp() {
        if (cancelled) {
            finish(new Outcome.Cancelled());
        }
        return outcome.isDone();
    }

    @Override
    public void opened(HttpHeaders headers) {
        accepted(headers);
        if (message.kind() == Envelope.Kind.REQUEST) {
            carrier.stream().opened(headers);
        } else {
            finish(new Outcome.Done()); // it is taken, and nothing answers it
        }
    }

    @Override
    public CompletionStage<Void> event(SseEvent event) {
        return carrier.stream().event(event);
    }

    @Override
    public void retry(long millis) {
        carrier.stream().retry(millis);
    }

    private void accepted(HttpHeaders headers) {
        retry.connected();
        link.accepted(message, headers);
    }

    private void ended(ExchangeEnd end, HttpRequest request) {
        if (outcome.isDone()) {
            carrier.ended();
        } else if (end instanceof ExchangeEnd.Answer answer) {
            judge.judge(answer, request).thenAccept(verdict -> act(verdict, answer, request));
        } else if (end instanceof ExchangeEnd.NoAnswer none) {
            fate.unanswered(none).ifPresent(this::finish);
        } else if (link.answersOnOneStream()) {
            waitElsewhere();
        } else {
            carrier.stream().cameApart(end);
        }
    }

    private void act(PostVerdict verdict, ExchangeEnd.Answer answer, HttpRequest request) {
        if (verdict instanceof PostVerdict.Accepted) {
            accepted(answer);
        } else if (verdict instanceof PostVerdict.SendAgain) {
            send();
        } else {
            fate.refused(verdict, answer, request).ifPresent(this::finish);
        }
    }

    /** The response of a request may be in the body, or come on another stream. */
    private void accepted(ExchangeEnd.Answer answer) {
        accepted(answer.headers());
        if (message.kind() != Envelope.Kind.REQUEST) {
            finish(new Outcome.Done());
        } else if (link.answersLater(answer.status())
                && !(answer.json() && MessageBodies.mayAnswer(message, answer.body()))) {
            waitElsewhere();
        } else if (answer.json() && answer.body().length > 0) {
            handOver(answer);
        } else {
            useless(answer.shown() + ", and no response in it");
        }
    }

    private void waitElsewhere() {
        Optional<Throwable> unread = sending.awaitsElsewhere();
        Optional<Throwable> loss = link.loss();
        if (unread.isPresent()) {
            unreadable(unread.get());
        } else if (loss.isPresent()) {
            sessionLost(loss.get()); // the stream that would bring it is gone with its session
        } else if (!link.answersLater(ACCEPTED)) {
            lostElsewhere();
        } else if (!link.answersOnOneStream()) {
            expectNews();
        }
    }

    /** A server may bring the answer of a request that it has only accepted on the listening stream, or never. */
    private void expectNews() {
        Future<?> check = link.later(LONGEST_WAIT_MILLIS, () -> {
            if (response.heard()) {
                expectNews();
            } else if (sending.elsewhere()) {
                // who does not answer a ping either is given up
                judge.settle()
                        .thenAccept(found -> unheard(found == Probe.Finding.GONE || found == Probe.Finding.UNKNOWN));
            }
        });
        outcome.thenAccept(done -> check.cancel(false));
    }

    private void unheard(boolean sessionGone) {
        if (sending.lostElsewhere()) {
            useless("the server accepted it with status 202, and sent no answer within 30 s", sessionGone);
        }
    }

    private void handOver(ExchangeEnd.Answer answer) {
        EnvelopeReader.Parsed parsed = MessageBodies.read(answer.body());
        String came = parsed instanceof EnvelopeReader.Malformed malformed
                ? String.valueOf(new UnreadableMessageException(malformed.message()).getMessage())
                : answer.shown() + ", and no response in it";
        deliver(came, () -> {
            CompletionStage<Void> taken = new MessageBodies(link.outage().watch(), this).take(parsed);
            if (MessageBodies.isDamagedAnswer(message, parsed, answer.body())) {
                finish(new Outcome.Unreadable(came));
            }
            return taken;
        });
    }

    /** What has come in order is no answer: because there is no session, or for a reason that lasts. */
    private void useless(String came) {
        judge.lost().thenAccept(gone -> useless(came, gone));
    }

    private void useless(String came, boolean sessionGone) {
        fate.useless(came, sessionGone).ifPresent(this::finish);
    }

    /** Takes a response that was left to the stream which is lost, with what came before it; where there is none, something else follows. */
    private void takeLeftOr(Runnable otherwise) {
        response.left()
                .ifPresentOrElse(
                        seen -> deliver("the response was not taken", () -> response.message(seen)), otherwise);
    }

    private void deliver(String otherwise, Supplier<CompletionStage<Void>> taking) {
        try {
            link.server()
                    .resources()
                    .delivery()
                    .execute(() -> CompletableFuture.<Void>completedFuture(null)
                            .thenCompose(nothing -> taking.get())
                            .whenComplete((taken, failure) ->
                                    response.untaken(failure).ifPresentOrElse(this::finish, () -> useless(otherwise))));
        } catch (RejectedExecutionException e) {
            finish(new Outcome.Closed());
        }
    }

    /** The application gives the request up: its stream is not resumed any more, and the server has a moment to end it. */
    void cancel() {
        cancelled = true;
        if (!carrier.begun() || (carrier.idle() && !sending.elsewhere())) {
            finish(new Outcome.Cancelled());
            return;
        }
        carrier.linger(() -> finish(new Outcome.Cancelled()));
    }

    @Override
    public CompletionStage<Void> message(Envelope received) {
        return judge.mayDeny(received)
                ? judge.lost().thenCompose(gone -> gone ? denied(received) : response.message(received))
                : response.message(received);
    }

    /** The server has answered with an error that means the session: where that is harmless, the next one is asked. */
    private CompletionStage<Void> denied(Envelope error) {
        link.gone();
        if (!fate.repeatable()) {
            return response.message(error);
        }
        useless("the server answered that it has lost the session", true);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public boolean leaves(Envelope received) {
        return sink.leaves(received);
    }

    @Override
    public boolean complete() {
        boolean over = givenUp();
        if (over) {
            carrier.ended();
        }
        return over;
    }

    @Override
    public boolean ofOneRequest() {
        return true;
    }

    @Override
    public boolean unreadable(RequestId request, Throwable why) {
        return message.kind() == Envelope.Kind.REQUEST
                && message.id().filter(request::equals).isPresent();
    }

    /** Its answer has come on the stream for answers that have none of their own, perhaps before its POST was answered, and cannot be read. */
    void unreadableElsewhere(Throwable why) {
        if (sending.unreadableElsewhere(why)) {
            unreadable(why);
        }
    }

    private void unreadable(Throwable why) {
        finish(new Outcome.Unreadable(String.valueOf(why.getMessage())));
    }

    @Override
    public boolean opensAnew() {
        return false;
    }

    @Override
    public void lost(StreamLoss loss) {
        takeLeftOr(() -> gone(loss));
    }

    private void gone(StreamLoss loss) {
        if (loss instanceof StreamLoss.NoAnswer none) {
            useless(none.reason());
        } else if (loss instanceof StreamLoss.SessionGone) {
            sending.inDoubt();
            sessionLost(loss.cause());
        } else {
            fate.lost(loss).ifPresent(this::finish);
        }
    }

    /** The server was found to be silent: what can be resumed is, since this connection may be as dead as the other. */
    void suspect() {
        if (carrier.stream().resumable() && link.headsAtOnce() && !outcome.isDone()) {
            carrier.interrupt();
        }
    }

    /** Whether a message that came on another stream is left to that of its answer, which has a place to be resumed from. */
    boolean awaits(Envelope received) {
        response.leave(received);
        return carrier.stream().resumable();
    }

    /** What it waits for. */
    Response response() {
        return response;
    }

    /** The stream is lost for answers that have none of their own; nothing to a message whose response was not to come there only. */
    void lostElsewhere() {
        if (sending.lostElsewhere()) {
            takeLeftOr(() -> useless("the server accepted it with status 202, and has no listening stream any more"));
        }
    }

    /** The server does not have its session any more: it ends, unless something of its own is under way that may still answer it. */
    void sessionLost(Throwable cause) {
        if (!sending.sessionGone(link.answersOnOneStream())) {
            return;
        }
        takeLeftOr(() -> finish(fate.sessionGone(cause)));
    }

    /** Ends it on this side. */
    void close() {
        finish(new Outcome.Closed());
        carrier.abort();
    }

    /** It ends so, unless its response is taken. */
    private void finish(Outcome how) {
        response.giveUp(() -> end(how));
    }

    private void end(Outcome how) {
        if (outcome.complete(how.since(link.closed()))) {
            retry.stop();
            if (response.taken() && !carrier.idle()) {
                carrier.linger(carrier::abort);
            } else {
                carrier.abort();
            }
        }
    }
}

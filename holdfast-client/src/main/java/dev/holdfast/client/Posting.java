package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * One message on its way to the server, over as many requests as that takes, and the stream that answers it. A request whose fate is
 * unknown is sent again only if that is harmless.
 */
final class Posting implements StreamOwner, StreamHandler {
    private static final int OK = 200;
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
    private volatile long sentAt;

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

    /** Whether the response is there, and whoever waits for it has it or is about to. */
    boolean answered() {
        return response.taken();
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
        if (outcome.isDone()) {
            return;
        }
        if (sending.begins()) {
            sentAt = System.nanoTime();
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
        link.reached();
        if (message.method().equals("initialize")) {
            headers.firstValue("mcp-session-id").ifPresent(link::named);
        } else {
            link.works();
        }
    }

    private void ended(ExchangeEnd end, HttpRequest request) {
        if (outcome.isDone()) {
            carrier.ended();
        } else if (end instanceof ExchangeEnd.Answer answer) {
            judge.judge(answer, request, sentAt).thenAccept(verdict -> act(verdict, answer, request));
        } else if (end instanceof ExchangeEnd.NoAnswer none && none.cause() instanceof OversizedEventException big) {
            unreadable(big);
        } else if (end instanceof ExchangeEnd.NoAnswer none) {
            fate.unanswered(none).ifPresent(this::finish);
        } else if (link.answersOnOneStream()) {
            waitElsewhere(OK);
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
            waitElsewhere(answer.status());
        } else if (answer.json() && answer.body().length > 0) {
            handOver(answer);
        } else {
            useless(answer.shown() + ", and no response in it");
        }
    }

    private void waitElsewhere(int status) {
        Optional<Throwable> unread = sending.awaitsElsewhere();
        Optional<Throwable> loss = link.loss();
        if (unread.isPresent()) {
            unreadable(unread.get());
        } else if (loss.isPresent()) {
            sessionLost(loss.get()); // the stream that would bring it is gone with its session
        } else if (!link.answersLater(status)) {
            lostElsewhere();
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
        if (link.mayBeLost() && !message.method().equals("initialize")) {
            judge.settle(sentAt).thenAccept(found -> useless(came, found == Probe.Finding.GONE));
        } else {
            useless(came, false);
        }
    }

    private void useless(String came, boolean sessionGone) {
        if (sessionGone) {
            finish(new Outcome.Unknown(came, new IOException(came), true));
        } else {
            fate.useless(came, new IOException(came)).ifPresent(this::finish);
        }
    }

    /** What came before it is lost with the stream. */
    private void takeLeft(Envelope seen) {
        deliver("the response was not taken", () -> response.message(seen));
    }

    private void deliver(String otherwise, Supplier<CompletionStage<Void>> taking) {
        try {
            link.server()
                    .means()
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
        if (received.kind() != Envelope.Kind.ERROR
                || !link.mayBeLost()
                || !MessageBodies.mayDenySession(message, received)) {
            return response.message(received);
        }
        return judge.settle(sentAt)
                .thenCompose(
                        found -> found == Probe.Finding.GONE ? sessionDenied(received) : response.message(received));
    }

    /** The server has answered with an error that means the session: where that is harmless, the next one is asked. */
    private CompletionStage<Void> sessionDenied(Envelope error) {
        if (fate.repeatable()) {
            useless("the server answered that it has lost the session", true);
            return CompletableFuture.completedFuture(null);
        }
        link.gone();
        return response.message(error);
    }

    @Override
    public boolean leaves(Envelope received) {
        return sink.leaves(received);
    }

    @Override
    public boolean complete() {
        if (cancelled) {
            finish(new Outcome.Cancelled());
        }
        if (outcome.isDone()) {
            carrier.ended();
        }
        return outcome.isDone();
    }

    @Override
    public boolean ofOneRequest() {
        return true;
    }

    @Override
    public boolean unreadable(RequestId request, Throwable why) {
        return isOurs(request);
    }

    private boolean isOurs(RequestId request) {
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
        if (response.left().isPresent()) {
            takeLeft(response.left().get());
        } else if (loss instanceof StreamLoss.GivenUp) {
            finish(new Outcome.Unknown("the server did not come back in time", loss.cause(), false));
        } else if (loss instanceof StreamLoss.Unreadable) {
            unreadable(loss.cause());
        } else if (loss instanceof StreamLoss.NoAnswer none) {
            useless(none.reason());
        } else if (loss instanceof StreamLoss.SessionGone) {
            sending.inDoubt();
            sessionLost(loss.cause());
        } else {
            String reason = loss instanceof StreamLoss.NoCursor none ? none.reason() : "it is not given any more";
            lost("the stream of its answer is lost: " + reason, loss.cause());
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
        if (!sending.lostElsewhere()) {
            return;
        }
        if (response.left().isPresent()) {
            takeLeft(response.left().get());
        } else {
            useless("the server accepted it with status 202, and the listening stream is gone");
        }
    }

    /** The response will not come on its stream. */
    private void lost(String reason, Throwable cause) {
        if (response.left().isPresent()) {
            takeLeft(response.left().get());
        } else {
            fate.unknown(reason, cause).ifPresent(this::finish);
        }
    }

    /** The server does not have its session any more: it ends, unless something of its own is under way that may still answer it. */
    void sessionLost(Throwable cause) {
        if (!sending.sessionGone(link.answersOnOneStream())) {
            return;
        }
        if (response.left().isPresent()) {
            takeLeft(response.left().get());
        } else {
            finish(fate.sessionGone(cause));
        }
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

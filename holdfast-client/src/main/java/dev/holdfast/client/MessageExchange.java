package dev.holdfast.client;

import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.client.SessionProbe.Finding;
import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * One message on its way to the server, over as many POSTs as that takes, the stream that answers it, and its outcome. What may have been
 * executed is sent again only if that is harmless.
 *
 * <p>Thread-safe. Answers to its POSTs come one at a time; what happens to the session, and to other streams, comes from any thread.
 */
final class MessageExchange extends StreamOwner {
    /** A request that is answered on the listening stream only must make progress at least this often. */
    private static final long LONGEST_WAIT_MILLIS = 30_000;

    private static final String LATE = "the server did not come back in time";

    private final ServerSession session;
    private final URI uri;
    final Envelope message;
    private final boolean repeatable;
    private final Object context;
    private final MessageSink sink;
    private final Response response;
    private final Retry retry;
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();

    /** The state of the last attempt. This and the next two fields are written under the lock of this object. */
    private volatile Attempt attempt = Attempt.NONE;
    /** What the server may have done because of attempts that are over. It only increases. */
    private volatile Executed executed = Executed.NO;

    private volatile boolean sessionGone;
    /** Why an answer that came on another stream cannot be read. */
    private @Nullable Throwable unreadable;

    private volatile boolean cancelled;
    private volatile @Nullable EventStream stream;
    private volatile long sentAt;
    private @Nullable CompletionStage<Finding> settled;
    private int credentials;
    private int refusals;
    private int useless;

    private enum Attempt {
        NONE,
        /** Its POST, or the stream that answers it, is under way. */
        UNDER_WAY,
        /** The server has accepted the message, and can answer it only on another stream. */
        ANSWERED_ELSEWHERE
    }

    private enum Executed {
        NO,
        /** The server failed while it had the message. */
        PERHAPS,
        /** The server may still be executing it. */
        PERHAPS_RUNS
    }

    /**
     * A message that was not sent yet.
     *
     * @param repeat whether it may be sent again when its fate is unknown
     * @param told what was told of its progress
     * @param sink takes what comes on its stream
     */
    MessageExchange(
            ServerSession session,
            URI uri,
            Envelope message,
            Repeat repeat,
            Object context,
            ToldProgress told,
            MessageSink sink) {
        this.session = session;
        this.uri = uri;
        this.message = message;
        this.repeatable = repeat == Repeat.HARMLESS;
        this.context = context;
        this.sink = sink;
        this.response =
                new Response(message, told, sink, session.server.resources().delivery(), this::end, this::send);
        this.retry = new Retry(session.server, session.outage, this::send);
    }

    CompletableFuture<Outcome> outcome() {
        return outcome;
    }

    Response response() {
        return response;
    }

    void send() {
        if (!response.asks() || givenUp()) {
            return;
        }
        if (executed != Executed.NO) {
            response.told().runsAgain();
        }
        session.postRequest(uri, message, context).whenComplete((request, failure) -> {
            if (failure != null) {
                finish(notSent("it could not be sent again", failure));
            } else {
                start(request);
            }
        });
    }

    private void start(HttpRequest request) {
        if (givenUp()) {
            return;
        }
        EventStream next = new EventStream(session, uri, context, this);
        stream = next;
        HttpExchange exchange = next.begunBy(request);
        if (!outcome.isDone() && begins()) {
            sentAt = System.nanoTime();
            exchange.start().thenAccept(end -> ended(next, end, request));
        } else {
            session.loss().ifPresent(this::sessionLost);
        }
    }

    /** Whether it has ended, or is cancelled and ends now. */
    private boolean givenUp() {
        if (cancelled) {
            finish(new Outcome.Cancelled());
        }
        return outcome.isDone();
    }

    /** Begins an attempt, unless the session is gone. Atomic with {@link #sessionLost}. */
    private synchronized boolean begins() {
        attempt = sessionGone ? Attempt.NONE : Attempt.UNDER_WAY;
        return !sessionGone;
    }

    /** Ends the attempt, which the server may have executed so far. */
    private synchronized void over(Executed much) {
        attempt = Attempt.NONE;
        executed = executed.compareTo(much) < 0 ? much : executed;
    }

    @Override
    void opened(HttpHeaders headers) {
        accepted(headers);
        if (message.kind() != Envelope.Kind.REQUEST) {
            finish(new Outcome.Done()); // it is taken, and nothing answers it
        }
    }

    private void accepted(HttpHeaders headers) {
        retry.connected();
        session.accepted(message, headers);
    }

    private void ended(EventStream begun, ExchangeEnd end, HttpRequest request) {
        if (outcome.isDone()) {
            begun.stop();
        } else if (end instanceof ExchangeEnd.Answer answer) {
            answered(answer, request);
        } else if (end instanceof ExchangeEnd.NoAnswer none) {
            unanswered(none);
        } else if (session.answersOnOneStream()) {
            waitElsewhere();
        } else {
            begun.cameApart(end);
        }
    }

    /** The POST ended without an answer. */
    private void unanswered(ExchangeEnd.NoAnswer end) {
        if (end.cause() instanceof OversizedEventException big) {
            finish(unreadable(big));
        } else if (end.sent()) {
            broken("the connection broke before an answer came", end.cause());
        } else {
            over(Executed.NO);
            retry.broke(end.cause());
            again(0, end.cause(), LATE);
        }
    }

    private void answered(ExchangeEnd.Answer answer, HttpRequest request) {
        PostOutcome said = PostOutcome.of(answer, session.addressing());
        if (said == PostOutcome.ACCEPTED) {
            accepted(answer);
        } else if (said != PostOutcome.UNAUTHORIZED) {
            judge(said, answer, request);
        } else {
            over(Executed.NO);
            session.server
                    .requests()
                    .authorized(request, answer, credentials++, context)
                    .whenComplete((again, failure) -> {
                        if (failure != null) {
                            finish(notSent("it could not be sent again", failure));
                        } else if (again) {
                            send();
                        } else {
                            judge(PostOutcome.REFUSED, answer, request);
                        }
                    });
        }
    }

    /** A refusal may be about the session instead of the message: then the server is asked by a ping. */
    private void judge(PostOutcome said, ExchangeEnd.Answer answer, HttpRequest request) {
        boolean error = MessageBodies.isErrorFor(message, answer.body());
        boolean doubtful = switch (said) {
            case PERHAPS_NO_SESSION -> true;
            case NO_SESSION -> error;
            case REFUSED, FAILED -> session.mayBeLost() && (!error || MessageBodies.mayDenySession(answer.body()));
            default -> false;
        };
        if (doubtful) {
            settle().thenAccept(found ->
                    refused(found == Finding.GONE ? PostOutcome.NO_SESSION : said.withSession(error), answer, request));
        } else {
            refused(said, answer, request);
        }
    }

    /** Finds out whether the server still has the session: once for the message, however often it is sent. */
    private CompletionStage<Finding> settle() {
        CompletionStage<Finding> finding = settled != null ? settled : session.probe.settle(uri, context, sentAt);
        settled = finding;
        return finding;
    }

    /** Whether the session is found to be gone. */
    private CompletionStage<Boolean> lost() {
        return session.mayBeLost() && !message.method().equals("initialize")
                ? settle().thenApply(found -> found == Finding.GONE)
                : CompletableFuture.completedFuture(false);
    }

    /** The server has answered, and neither accepted the message nor asked for it again at once. */
    private void refused(PostOutcome said, ExchangeEnd.Answer answer, HttpRequest request) {
        HttpStatusException status = HttpStatusException.of(answer);
        if (said == PostOutcome.NO_SESSION) {
            // where this attempt was not executed, one before may have been
            if (!Outcome.Refused.saysNotExecuted(answer.status())) {
                over(Executed.PERHAPS);
            }
            finish(withoutSession(status));
            return;
        }
        if (said == PostOutcome.UNKNOWN) {
            broken("a proxy lost the server while it had the request", status);
            return;
        }
        if (said == PostOutcome.FAILED && !repeatable) {
            finish(new Outcome.Unknown("the server failed at the request", status, false));
            return;
        }
        over(said == PostOutcome.FAILED ? Executed.PERHAPS : Executed.NO);
        boolean maybeRuns = executed == Executed.PERHAPS_RUNS && message.kind() == Envelope.Kind.REQUEST;
        // a server may fail at a notification because its listening stream is not there yet
        boolean early = message.kind() == Envelope.Kind.NOTIFICATION && answer.status() == 500;
        boolean forGood = said == PostOutcome.REFUSED && !early;
        if (maybeRuns && answer.status() == 400) {
            // the server may have got it before, and refuse it as long as it runs
            again(0, status, "the server refuses to take it again");
        } else if (said == PostOutcome.LATER) {
            retry.broke(status);
            again(answer.retryAfterMillis(Instant.now()), status, LATE);
        } else if (!forGood && sessionGone) {
            finish(cancelled ? new Outcome.Cancelled() : withoutSession(status));
        } else if (forGood || refusals++ > 0 || !retry.again(0)) {
            finish(new Outcome.Refused(answer.status(), answer.headers(), answer.body(), request));
        }
    }

    private void broken(String reason, Throwable cause) {
        retry.broke(cause);
        unknown(reason, cause);
    }

    private void unknown(String reason, Throwable cause) {
        over(Executed.PERHAPS_RUNS);
        if (repeatable) {
            again(0, cause, LATE);
        } else {
            unknownForGood(reason, cause);
        }
    }

    private void unknownForGood(String reason, Throwable cause) {
        finish(cancelled ? new Outcome.Cancelled() : new Outcome.Unknown(reason, cause, sessionGone));
    }

    /**
     * Another attempt after a while, if there still is a session for it.
     *
     * @param reason why it is not known whether the message was executed, if it may have been and there is no other attempt
     */
    private void again(long millis, Throwable cause, String reason) {
        if (cancelled) {
            finish(new Outcome.Cancelled());
        } else if (sessionGone) {
            finish(withoutSession(cause));
        } else if (!retry.again(millis)) {
            finish(notSent(reason, cause));
        }
    }

    private Outcome notSent(String reason, Throwable cause) {
        return executed == Executed.NO
                ? new Outcome.NotSent(cause)
                : new Outcome.Unknown(reason, ExchangeEnd.unwrap(cause), false);
    }

    /** What has no response is nothing to a server that has lost the session. */
    private Outcome withoutSession(Throwable cause) {
        return executed != Executed.NO && message.kind() == Envelope.Kind.REQUEST
                ? new Outcome.Unknown("its session is gone", cause, true)
                : new Outcome.SessionGone();
    }

    private static Outcome unreadable(Throwable why) {
        return new Outcome.Unreadable(String.valueOf(why.getMessage()));
    }

    /** The response of a request may be in the body, or come on another stream. */
    private void accepted(ExchangeEnd.Answer answer) {
        accepted(answer.headers());
        if (message.kind() != Envelope.Kind.REQUEST) {
            finish(new Outcome.Done());
        } else if (session.answersLater(answer.status())
                && !(answer.json() && MessageBodies.mayAnswer(message, answer.body()))) {
            waitElsewhere();
        } else if (answer.json() && answer.body().length > 0) {
            handOver(answer);
        } else {
            useless(answer.shown() + ", and no response in it");
        }
    }

    private void handOver(ExchangeEnd.Answer answer) {
        EnvelopeReader.Parsed parsed = MessageBodies.read(answer.body());
        String came = parsed instanceof EnvelopeReader.Malformed malformed
                ? String.valueOf(new UnreadableMessageException(malformed.message()).getMessage())
                : answer.shown() + ", and no response in it";
        response.deliver(
                () -> {
                    CompletionStage<Void> taken = MessageBodies.take(parsed, session.watch, this::message);
                    if (MessageBodies.isDamagedAnswer(message, parsed, answer.body())) {
                        finish(new Outcome.Unreadable(came));
                    }
                    return taken;
                },
                () -> useless(came));
    }

    /** The server has answered, but not with a response: because the session is gone, or for a reason that lasts. */
    private void useless(String came) {
        lost().thenAccept(gone -> useless(came, gone));
    }

    /** Another attempt is likely to end in the same way, so there is only one. */
    private void useless(String came, boolean gone) {
        Throwable cause = new IOException(came);
        over(Executed.PERHAPS_RUNS);
        if (gone) {
            finish(new Outcome.Unknown(came, cause, true));
        } else if (repeatable && useless++ == 0) {
            again(0, cause, came);
        } else {
            unknownForGood(came, cause);
        }
    }

    private void waitElsewhere() {
        Throwable unread;
        synchronized (this) {
            over(Executed.PERHAPS_RUNS);
            attempt = Attempt.ANSWERED_ELSEWHERE;
            unread = unreadable;
        }
        Optional<Throwable> loss = session.loss();
        if (unread != null) {
            finish(unreadable(unread));
        } else if (loss.isPresent()) {
            sessionLost(loss.get()); // the stream that would bring it is gone with its session
        } else if (!session.answersLater(202)) {
            lostElsewhere();
        } else if (!session.answersOnOneStream()) {
            expectAnswerElsewhere();
        }
    }

    /** A server may bring the answer of a request that it has only accepted on the listening stream, or never. */
    private void expectAnswerElsewhere() {
        Future<?> check = session.later(LONGEST_WAIT_MILLIS, () -> {
            if (response.heard()) {
                expectAnswerElsewhere();
            } else if (attempt == Attempt.ANSWERED_ELSEWHERE) {
                // a server that does not answer a ping either is given up
                settle().thenAccept(found -> unheard(found == Finding.GONE || found == Finding.UNKNOWN));
            }
        });
        outcome.thenAccept(done -> check.cancel(false));
    }

    private void unheard(boolean gone) {
        if (waitsElsewhereNoMore()) {
            useless("the server accepted it with status 202, and sent no answer within 30 s", gone);
        }
    }

    /** Stops waiting for another stream. Returns true once, to the first caller, if the answer was expected there. */
    private synchronized boolean waitsElsewhereNoMore() {
        boolean waited = attempt == Attempt.ANSWERED_ELSEWHERE;
        attempt = waited ? Attempt.NONE : attempt;
        return waited;
    }

    /** The listening stream is lost; does nothing unless the answer was expected there. */
    void lostElsewhere() {
        if (waitsElsewhereNoMore()) {
            takeLeftOr(() -> useless("the server accepted it with status 202, and has no listening stream any more"));
        }
    }

    /** Its answer came on the listening stream, perhaps before its POST was answered, and cannot be read. */
    void unreadableElsewhere(Throwable why) {
        boolean here;
        synchronized (this) {
            unreadable = why;
            here = attempt == Attempt.ANSWERED_ELSEWHERE;
        }
        if (here) {
            finish(unreadable(why));
        }
    }

    /** Takes the response that was seen on another stream and left to this one, which is lost; else does something else. */
    private void takeLeftOr(Runnable otherwise) {
        Envelope seen = response.left();
        if (seen == null) {
            otherwise.run();
        } else {
            response.deliver(() -> response.take(seen), () -> useless("the response was not taken"));
        }
    }

    @Override
    CompletionStage<Void> message(Envelope received) {
        boolean mayDeny = received.kind() == Envelope.Kind.ERROR
                && session.mayBeLost()
                && MessageBodies.mayDenySession(message, received);
        return mayDeny ? lost().thenCompose(gone -> gone ? denied(received) : take(received)) : take(received);
    }

    private CompletionStage<Void> take(Envelope received) {
        if (response.isIn(received)) {
            return response.take(received);
        }
        response.came(received);
        return session.route(received, this, sink);
    }

    /** The error was about the session. If that is harmless, the request goes to the next session. */
    private CompletionStage<Void> denied(Envelope error) {
        session.gone();
        if (!repeatable) {
            return take(error);
        }
        useless("the server answered that it has lost the session", true);
        return CompletableFuture.completedFuture(null);
    }

    /** Whether a message that came on another stream is left to the stream of this request, which can be resumed. */
    boolean awaits(Envelope received) {
        response.leave(received);
        EventStream answering = stream;
        return answering != null && answering.resumable();
    }

    @Override
    boolean leaves(Envelope received) {
        return session.leavesToOwner(received, this);
    }

    /** Another connection was silent for too long, and this one may be half-open too: resumes the stream if it can. */
    void suspect() {
        EventStream answering = stream;
        if (answering != null && answering.resumable() && session.headsAtOnce() && !outcome.isDone()) {
            answering.interrupt();
        }
    }

    @Override
    boolean complete() {
        return givenUp();
    }

    @Override
    boolean opensAnew() {
        return false;
    }

    @Override
    boolean unreadable(RequestId request, Throwable why) {
        return message.kind() == Envelope.Kind.REQUEST
                && message.id().filter(request::equals).isPresent();
    }

    @Override
    void lost(Loss loss) {
        takeLeftOr(() -> {
            if (loss instanceof Loss.NoAnswer none) {
                useless(none.reason());
            } else if (loss instanceof Loss.SessionGone) {
                over(Executed.PERHAPS_RUNS);
                sessionLost(loss.cause());
            } else if (loss instanceof Loss.GivenUp) {
                finish(new Outcome.Unknown(LATE, loss.cause(), false));
            } else if (loss instanceof Loss.Unreadable) {
                finish(unreadable(loss.cause()));
            } else {
                String reason = loss instanceof Loss.NoCursor none ? none.reason() : "it is not given any more";
                unknown("the stream of its answer is lost: " + reason, loss.cause());
            }
        });
    }

    /** The server has lost the session: ends the message, unless its POST or its stream may still bring the answer. */
    void sessionLost(Throwable cause) {
        synchronized (this) {
            sessionGone = true;
            if (attempt == Attempt.UNDER_WAY) {
                if (!session.answersOnOneStream()) {
                    return;
                }
                over(Executed.PERHAPS);
            }
        }
        takeLeftOr(() -> finish(cancelled ? new Outcome.Cancelled() : withoutSession(cause)));
    }

    /** Cancels the request: its stream is not resumed any more, and the server has a moment to end it. */
    void cancel() {
        cancelled = true;
        EventStream begun = stream;
        if (begun == null || !session.endsCancelled() || (begun.idle() && attempt != Attempt.ANSWERED_ELSEWHERE)) {
            finish(new Outcome.Cancelled());
        } else {
            begun.linger(() -> finish(new Outcome.Cancelled()));
        }
    }

    void close() {
        finish(new Outcome.Closed());
        EventStream begun = stream;
        if (begun != null) {
            begun.stop();
        }
    }

    /** Ends the message, unless its response is being taken. */
    private void finish(Outcome how) {
        response.giveUp(how);
    }

    private void end(Outcome how) {
        if (outcome.complete(how.since(session.closed()))) {
            retry.stop();
            EventStream begun = stream;
            if (begun != null && response.taken() && !begun.idle()) {
                begun.linger(begun::stop);
            } else if (begun != null) {
                begun.stop();
            }
        }
    }
}

package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.json.Envelope;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Finds out what the answers to the POSTs of one message mean. For one thread at a time. */
final class PostJudge {
    private final Link link;
    private final URI uri;
    private final Envelope message;
    private final Sending sending;
    private final Object context;
    private final Credentials credentials;
    private volatile long sentAt;
    private @Nullable CompletionStage<Probe.Finding> settled;

    /**
     * Before the first answer.
     *
     * @param sending hears of a refusal before anybody is asked what follows
     */
    PostJudge(Link link, URI uri, Envelope message, Sending sending, Object context) {
        this.link = link;
        this.uri = uri;
        this.message = message;
        this.sending = sending;
        this.context = context;
        this.credentials = new Credentials(link, context);
    }

    /** It is sent, once more perhaps. */
    void sent() {
        sentAt = System.nanoTime();
    }

    /** Judges an answer; where it leaves a question open, the application or the server is asked. The stage never fails. */
    CompletionStage<PostVerdict> judge(ExchangeEnd.Answer answer, HttpRequest request) {
        PostVerdict verdict = PostVerdict.of(answer, session());
        boolean error = MessageBodies.isErrorFor(message, answer.body());
        if (verdict instanceof PostVerdict.Unauthorized) {
            sending.unsent();
            return credentials
                    .asked(answer, request)
                    .<PostVerdict>handle((again, failure) -> failure != null
                            ? new PostVerdict.NotSent(failure)
                            : again ? new PostVerdict.SendAgain() : new PostVerdict.Refused())
                    .thenCompose(last -> last instanceof PostVerdict.Refused && mayMeanTheSession(error, answer)
                            ? doubted(last)
                            : CompletableFuture.completedFuture(last));
        }
        if (verdict instanceof PostVerdict.PerhapsNoSession) {
            return doubted(error ? new PostVerdict.Refused() : new PostVerdict.Doubtful());
        }
        if (verdict instanceof PostVerdict.NoSession && error) {
            return doubted(new PostVerdict.Refused());
        }
        boolean refused = verdict instanceof PostVerdict.Refused || verdict instanceof PostVerdict.Failed;
        return refused && mayMeanTheSession(error, answer)
                ? doubted(verdict)
                : CompletableFuture.completedFuture(verdict);
    }

    /** Whether a refusal may mean the session, and not the message. */
    private boolean mayMeanTheSession(boolean error, ExchangeEnd.Answer answer) {
        return link.mayBeLost() && (!error || MessageBodies.mayDenySession(answer.body()));
    }

    private PostVerdict.Session session() {
        if (link.answersOnOneStream()) {
            return PostVerdict.Session.ADDRESS;
        }
        return link.id().isPresent() ? PostVerdict.Session.ID : PostVerdict.Session.NONE;
    }

    /** The verdict, unless the session is found to be gone. */
    private CompletionStage<PostVerdict> doubted(PostVerdict there) {
        return settle().thenApply(found -> found == Probe.Finding.GONE ? new PostVerdict.NoSession() : there);
    }

    /** Whether the session is gone, where what came may mean that. */
    CompletionStage<Boolean> lost() {
        return link.mayBeLost() && !message.method().equals("initialize")
                ? settle().thenApply(found -> found == Probe.Finding.GONE)
                : CompletableFuture.completedFuture(false);
    }

    /** Whether a message that came as an answer may mean the session, and not the request. */
    boolean mayDeny(Envelope received) {
        return received.kind() == Envelope.Kind.ERROR
                && link.mayBeLost()
                && MessageBodies.mayDenySession(message, received);
    }

    /** Finds out whether the server still has the session: once for the message, however often it is sent. */
    CompletionStage<Probe.Finding> settle() {
        CompletionStage<Probe.Finding> finding =
                settled != null ? settled : link.doubt().settle(uri, context, sentAt);
        settled = finding;
        return finding;
    }
}

package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.json.Envelope;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Finds out what the answers to the POSTs of one message mean. For one thread at a time. */
final class PostJudge {
    private final Link link;
    private final URI uri;
    private final Envelope message;
    private final Sending sending;
    private final Object context;
    private final Credentials credentials;

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

    /** Judges an answer; where it leaves a question open, the application or the server is asked. The stage never fails. */
    CompletionStage<PostVerdict> judge(ExchangeEnd.Answer answer, HttpRequest request) {
        PostVerdict verdict = PostVerdict.of(answer, session());
        if (verdict instanceof PostVerdict.Unauthorized) {
            sending.unsent();
            return credentials
                    .asked(answer, request)
                    .handle((again, failure) -> failure != null
                            ? new PostVerdict.NotSent(failure)
                            : again ? new PostVerdict.SendAgain() : new PostVerdict.Refused());
        }
        if (verdict instanceof PostVerdict.PerhapsNoSession) {
            return probed(
                    MessageBodies.isErrorFor(message, answer.body())
                            ? new PostVerdict.Refused()
                            : new PostVerdict.Doubtful());
        }
        if (verdict instanceof PostVerdict.NoSession && MessageBodies.isErrorFor(message, answer.body())) {
            return probed(new PostVerdict.Refused());
        }
        return CompletableFuture.completedFuture(verdict);
    }

    private PostVerdict.Session session() {
        if (link.answersOnOneStream()) {
            return PostVerdict.Session.ADDRESS;
        }
        return link.id().isPresent() ? PostVerdict.Session.ID : PostVerdict.Session.NONE;
    }

    /** The verdict where the server has the session. */
    private CompletionStage<PostVerdict> probed(PostVerdict there) {
        return Probe.ask(link, uri, context)
                .thenApply(found -> found == Probe.Finding.GONE ? new PostVerdict.NoSession() : there);
    }
}

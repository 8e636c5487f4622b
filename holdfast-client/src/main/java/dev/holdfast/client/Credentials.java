package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Asks the application for credentials, each time that a server wants them of one message or stream. For one thread at a time. */
final class Credentials {
    private final Link link;
    private final Object context;
    private int times;

    /**
     * Credentials that were not asked for.
     *
     * @param context what came with the message or stream
     */
    Credentials(Link link, Object context) {
        this.link = link;
        this.context = context;
    }

    /** Whether the request is to be sent again. */
    CompletionStage<Boolean> asked(ExchangeEnd.Answer answer, HttpRequest request) {
        try {
            return link.server()
                    .requests()
                    .authorization()
                    .sendAgain(request, answer.status(), answer.headers(), times++, context);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** The server has accepted them: the next time is the first one. */
    void accepted() {
        times = 0;
    }
}

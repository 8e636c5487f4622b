package dev.holdfast.upstream;

import dev.holdfast.client.MessageSink;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.ListeningSink;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * What an upstream sends outside of the streams of requests; over HTTP+SSE that is all but responses. Progress goes to the call of its
 * token. The rest goes to the listening stream, if its client listens or may be on its way back; else what names neither a list nor a
 * resource goes to the newest running call.
 */
record UpstreamNews(UpstreamCalls calls, UpstreamQuestions questions, ListeningSink listening) implements MessageSink {
    @Override
    public CompletionStage<Void> message(Envelope message) {
        return switch (message.kind()) {
            case REQUEST -> ask(message, listening.attached() ? Optional.empty() : calls.newest());
            case NOTIFICATION -> notification(message);
            case RESPONSE, ERROR -> CompletableFuture.completedFuture(null);
        };
    }

    /** Asks the client, in a call or on the listening stream; completes when the request is stored. */
    CompletionStage<Void> ask(Envelope message, Optional<CallSink> call) {
        CompletionStage<Void> stored = questions.ask(message, call);
        // that of a call which has ended meanwhile would be asked by nobody
        call.filter(ended -> !runs(ended)).ifPresent(questions::ended);
        return stored;
    }

    private boolean runs(CallSink sink) {
        return calls.all().stream().anyMatch(call -> call.sink() == sink);
    }

    private CompletionStage<Void> notification(Envelope message) {
        String method = message.method();
        if (method.equals("notifications/cancelled")) {
            return questions.withdraw(message);
        }
        if (method.equals("notifications/progress")) {
            return progress(message);
        }
        boolean lasting = method.endsWith("/list_changed") || method.equals("notifications/resources/updated");
        return send(message, lasting ? Optional.empty() : unattributed());
    }

    private CompletionStage<Void> progress(Envelope message) {
        Optional<UpstreamCalls.Told> told = message.progressToken().flatMap(calls::ofToken);
        if (told.isEmpty()) {
            // under another token the only call that it can be of is one that runs
            Optional<CallSink> call =
                    message.progressToken().filter(calls::ended).isPresent() ? Optional.empty() : calls.newest();
            if (call.isPresent()) {
                return call.get().send(message.outbound());
            }
            listening.unsolicited();
            return CompletableFuture.completedFuture(null);
        }
        Envelope clients = message.withProgressToken(told.get().token());
        return send(clients, told.get().call().or(this::unattributed));
    }

    private Optional<CallSink> unattributed() {
        return listening.followed() ? Optional.empty() : calls.newest();
    }

    private CompletionStage<Void> send(Envelope message, Optional<CallSink> call) {
        return call.isPresent() ? call.get().send(message.outbound()) : listening.send(message.outbound());
    }
}

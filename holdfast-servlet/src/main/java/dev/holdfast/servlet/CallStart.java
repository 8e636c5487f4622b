package dev.holdfast.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens the call of a POST that carries requests, and lets the face of the POST answer it. */
record CallStart(PostFace face) {
    private static final Logger log = LoggerFactory.getLogger(CallStart.class);

    /**
     * Opens the call and hands over the other messages of the batch; if a request is refused, nothing of its batch is done.
     *
     * @param others notifications and answers that came with the requests
     */
    Step call(Exchange exchange, Session session, List<Envelope> requests, List<Envelope> others) {
        List<InboundMessage> messages = new ArrayList<>(requests.size());
        for (Envelope request : requests) {
            messages.add(request.inbound(exchange.context()));
        }
        Optional<RequestId> id = requests.size() == 1 ? requests.get(0).id() : Optional.empty();
        return exchange.when(
                session.call(messages),
                id,
                outcome -> {
                    if (outcome instanceof Call.Accepted accepted) {
                        accepted.call().whenOver(exchange.memory().use());
                        return run(exchange, session, accepted, id, messages, others);
                    } else if (outcome instanceof Call.Duplicate duplicate) {
                        return exchange.reply(Rejection.badRequest(
                                        Refusal.DUPLICATE_ID,
                                        "a request with id " + duplicate.id() + " is in flight already")
                                .to(Optional.of(duplicate.id())));
                    } else if (outcome instanceof Call.Refused refused) {
                        return exchange.reply(Rejection.of(refused.reason()).to(id));
                    } else if (outcome instanceof Call.Closed closed) {
                        exchange.answer().reply(closed.reason(), id);
                    } else if (outcome instanceof Call.Undecided) {
                        if (!session.listensOnly()) {
                            return exchange.message(undecided(messages));
                        }
                        // over HTTP+SSE nobody reads an answer here but for its status
                        exchange.answer().json(500, undecided(messages));
                    }
                    return Step.DONE;
                },
                outcome -> orphaned(exchange, outcome));
    }

    /** The answer to requests of which nobody knows whether they run. */
    private static byte[] undecided(List<InboundMessage> requests) {
        List<String> errors = requests.stream()
                .map(request -> JsonRpc.errorBody(
                        Optional.of(request.requiredId()), JsonRpc.INTERNAL_ERROR, Call.Undecided.TEXT))
                .map(error -> new String(error, UTF_8))
                .toList();
        return (errors.size() == 1 ? errors.get(0) : errors.toString()).getBytes(UTF_8);
    }

    /** A call that was taken runs, whatever becomes of the messages that came with it. */
    private Step run(
            Exchange exchange,
            Session session,
            Call.Accepted accepted,
            Optional<RequestId> id,
            List<InboundMessage> requests,
            List<Envelope> others) {
        if (others.isEmpty()) {
            return face.run(exchange, session, accepted.call(), requests);
        }
        CompletionStage<Optional<Refusal>> handed;
        try {
            handed = HandOver.all(session, others, exchange.context());
        } catch (Throwable e) {
            handed = CompletableFuture.failedFuture(e);
        }
        CompletionStage<Call.Outcome> ready = handed.handle((refusal, failure) -> {
            if (failure != null || refusal.isPresent()) {
                Object why = failure == null ? refusal.map(Refusal::text).orElse("") : failure;
                log.warn("session {}: a batch was not handed over whole: {}", session.shortId(), why.toString());
            }
            return accepted;
        });
        return exchange.when(
                ready,
                id,
                outcome -> face.run(exchange, session, accepted.call(), requests),
                outcome -> orphaned(exchange, outcome));
    }

    /** Dispatches a call whose client has left before its answer began: that does not cancel the call. */
    private static boolean orphaned(Exchange exchange, Call.Outcome outcome) {
        if (outcome instanceof Call.Undecided) {
            return true;
        }
        if (!(outcome instanceof Call.Accepted accepted)) {
            return false;
        }
        Call call = accepted.call();
        call.whenOver(exchange.memory().use());
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.BROKEN));
        // this may run a handler to its end, and the thread may be one of the store or the engine
        Thread thread = new Thread(() -> dispatch(call), "holdfast-orphan");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            dispatch(call);
        }
        return true;
    }

    private static void dispatch(Call call) {
        try {
            call.dispatch();
        } catch (Throwable e) {
            log.error("a call could not be handed over", e);
        }
    }
}

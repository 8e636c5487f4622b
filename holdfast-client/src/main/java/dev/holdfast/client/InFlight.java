package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The messages of one session that are under way, at most so many. Thread-safe. */
final class InFlight {
    private static final StreamSink NOBODY = message -> CompletableFuture.completedFuture(null);

    private final Link link;
    private final Map<RequestId, Posting> requests = new ConcurrentHashMap<>();
    private final Map<Posting, Boolean> all = new ConcurrentHashMap<>();
    private final AtomicInteger count = new AtomicInteger();

    /** Takes what comes on the stream of a request. Some servers replay on it what belongs to the streams of others. */
    private final class OfRequest implements StreamSink {
        private final RequestId id;
        private final MessageSink sink;

        private OfRequest(RequestId id, MessageSink sink) {
            this.id = id;
            this.sink = sink;
        }

        @Override
        public CompletionStage<Void> message(Envelope message) {
            if (isProgress(message)) {
                return progress(message, requests.get(id), sink);
            }
            boolean foreign = isResponse(message)
                    && message.id().filter(other -> !other.equals(id)).isPresent();
            return foreign ? route(message, NOBODY) : sink.message(message);
        }

        @Override
        public boolean leaves(Envelope message) {
            Posting owner = owner(message);
            return owner != null && owner != requests.get(id) && owner.awaits(message);
        }
    }

    InFlight(Link link) {
        this.link = link;
    }

    /** Sends a request. */
    CompletionStage<Outcome> call(
            URI uri,
            Envelope request,
            ServerSession.Repeat repeat,
            Object context,
            ToldProgress told,
            MessageSink taker) {
        RequestId id = request.id().orElseThrow(() -> new IllegalArgumentException(request + " is no request"));
        StreamSink sink = new OfRequest(id, taker.guarded());
        Posting posting = new Posting(link, uri, request, repeat == ServerSession.Repeat.HARMLESS, context, told, sink);
        if (count.incrementAndGet() > link.limits().inFlight()) {
            count.decrementAndGet();
            return refused("there are " + link.limits().inFlight() + " requests in flight");
        }
        // whoever has the response may use its id again before this knows that the response was taken
        if (requests.merge(id, posting, (old, next) -> old.response().taken() ? next : old) != posting) {
            count.decrementAndGet();
            return refused("a request with the id " + id + " is in flight");
        }
        return send(posting).thenApply(outcome -> {
            requests.remove(id, posting);
            count.decrementAndGet();
            return outcome;
        });
    }

    /** Sends what has no response. */
    CompletionStage<Outcome> post(URI uri, Envelope message, Object context) {
        message.cancelledRequest().map(requests::get).ifPresent(Posting::cancel);
        return send(new Posting(link, uri, message, true, context, new ToldProgress(), NOBODY));
    }

    private CompletionStage<Outcome> send(Posting posting) {
        all.put(posting, true);
        if (link.closed()) {
            posting.close();
        } else {
            link.loss().ifPresentOrElse(posting::sessionLost, posting::send);
        }
        return posting.outcome().thenApply(outcome -> {
            all.remove(posting);
            return outcome;
        });
    }

    private static CompletionStage<Outcome> refused(String reason) {
        return CompletableFuture.completedFuture(new Outcome.NotSent(new NotTakenException(reason)));
    }

    /** Takes a message that came on another stream than that of a request: a response goes to its request, if that still waits. */
    CompletionStage<Void> route(Envelope message, MessageSink others) {
        if (isProgress(message)) {
            return progress(message, null, others);
        }
        if (!isResponse(message)) {
            return others.message(message);
        }
        Posting waiting = owner(message);
        return waiting == null ? NOBODY.message(message) : waiting.message(message);
    }

    /** Passes progress on, unless its request is sent again and it repeats what was told before. */
    private CompletionStage<Void> progress(Envelope message, @Nullable Posting likely, MessageSink taker) {
        Posting owner = likely != null && likely.response().concerns(message) ? likely : owner(message);
        if (owner == null) {
            return taker.message(message);
        }
        owner.response().hear();
        return owner.response().told().pass(message, taker);
    }

    /**
     * Whether a message that comes on the listening stream is left to the stream of a request. There are servers that tell progress
     * on the listening stream only.
     */
    boolean leaves(Envelope message) {
        Posting owner = owner(message);
        return owner != null && (isResponse(message) || owner.response().tellsProgress()) && owner.awaits(message);
    }

    /** The request of which a message is the response, or the progress. */
    private @Nullable Posting owner(Envelope message) {
        if (isResponse(message)) {
            return message.id().map(requests::get).orElse(null);
        }
        if (!isProgress(message)) {
            return null;
        }
        for (Posting posting : requests.values()) {
            if (posting.response().concerns(message)) {
                return posting;
            }
        }
        return null;
    }

    private static boolean isResponse(Envelope message) {
        return message.kind() == Envelope.Kind.RESPONSE || message.kind() == Envelope.Kind.ERROR;
    }

    private static boolean isProgress(Envelope message) {
        return message.kind() == Envelope.Kind.NOTIFICATION
                && message.progressToken().isPresent();
    }

    /** The stream is gone on which answers came that do not come on the streams of their requests. */
    void lostElsewhere() {
        requests.values().forEach(Posting::lostElsewhere);
    }

    /** An answer has come, on the stream for those that have none of their own, that cannot be read. */
    void unreadable(RequestId request, Throwable why) {
        Posting waiting = requests.get(request);
        if (waiting != null) {
            waiting.unreadableElsewhere(why);
        }
    }

    /** The server was found to be silent on another stream. */
    void suspect() {
        requests.values().forEach(Posting::suspect);
    }

    /** The link has lost its session: nothing more is sent, and what has nothing under way that could still answer it ends. */
    void lost() {
        link.loss().ifPresent(cause -> all.keySet().forEach(posting -> posting.sessionLost(cause)));
    }

    /** Ends everything, once the link is closed. */
    void close() {
        all.keySet().forEach(Posting::close);
    }
}

package dev.holdfast.modern;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Finding;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.json.ServerIntroduction;
import dev.holdfast.modern.Carrier.Use;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * The sessions that carry requests which name none. A carrier is an ordinary session of the engine: it is opened by an {@code initialize}
 * that declares what the client of the request does, counts for its principal, and ends when nobody has used it for a minute. Safe for
 * use by any thread.
 */
public final class Carriers {
    /** The last revision with sessions. */
    private static final String REVISION = "2025-11-25";

    /** How long one waits for the next request. */
    private static final Duration IDLE = Duration.ofMinutes(1);

    private static final Duration SWEEP = Duration.ofSeconds(5);
    private static final RequestId FIRST_ID = new RequestId("0");
    private static final String INITIALIZED = "notifications/initialized";

    private final SessionEngine engine;
    private final boolean alone;
    private final Executor answering;
    private final Lifetime lifetime;
    /** Those that several requests share, open or on their way. */
    private final Map<Key, CompletableFuture<Taking>> shared = new ConcurrentHashMap<>();
    /** Those that carry one request after the other, and none now. */
    private final Map<Key, Deque<Carrier>> idle = new ConcurrentHashMap<>();
    /** What a backend has said last: it says the same to each carrier. */
    private volatile Future<?> sweeping = CompletableFuture.completedFuture(null);

    private volatile Said said = new Said(new byte[0], new ServerIntroduction("", "{}", ""));

    private record Key(String principal, String capabilities) {}

    private record Said(byte[] response, ServerIntroduction introduction) {}

    /** What became of the wish for a carrier. */
    public sealed interface Taking {}

    /**
     * It is there.
     *
     * @param carrier the carrier, to be {@linkplain Carrier#release released} once
     */
    public record Taken(Carrier carrier) implements Taking {}

    /**
     * There is none now.
     *
     * @param reason why
     */
    public record Full(Refusal reason) implements Taking {}

    /**
     * The backend cannot be opened, or refuses.
     *
     * @param error what it says, under an id that means nothing
     */
    public record Declined(OutboundMessage error) implements Taking {}

    /**
     * Carriers of an engine's sessions.
     *
     * @param alone whether each request gets one of its own, which ends with it
     * @param lifetime how long calls may run
     * @param keep how long a call is kept whose client may come back for it
     * @param answering gives answers to backends; a handler may go on there
     */
    public Carriers(SessionEngine engine, boolean alone, Lifetime lifetime, Duration keep, Executor answering) {
        this.engine = engine;
        this.answering = answering;
        this.alone = alone;
        // one that is shared is ended here, by its use
        this.lifetime = lifetime.withGrace(keep).withIdle(alone ? IDLE : keep);
    }

    /** Begins to end those that nobody uses. Call it once. */
    public void start() {
        if (!alone) {
            long millis = SWEEP.toMillis();
            sweeping = engine.scheduler().scheduleWithFixedDelay(this::sweep, millis, millis, TimeUnit.MILLISECONDS);
        }
    }

    /** Ends none any more. */
    public void stop() {
        sweeping.cancel(false);
    }

    private void sweep() {
        idle.keySet()
                .forEach(key -> idle.computeIfPresent(key, (any, carriers) -> {
                    carriers.removeIf(carrier -> carrier.endIfIdle(IDLE));
                    return carriers.isEmpty() ? null : carriers;
                }));
        shared.forEach((key, taking) -> {
            if (taking.isDone()
                    && !taking.isCompletedExceptionally()
                    && taking.join() instanceof Taken taken
                    && taken.carrier.endIfIdle(IDLE)) {
                shared.remove(key, taking);
            }
        });
    }

    /** A carrier that was taken before, here or elsewhere, for a call whose client has come back: it ends with that. */
    Carrier adopted(Session session) {
        return new Carrier(engine, session, introduction(), Use.ONCE, answering);
    }

    /** What the backend has said of itself last. */
    ServerIntroduction introduction() {
        return said.introduction;
    }

    /**
     * A carrier for one request. One whose client can be asked has it alone meanwhile: a backend may not say on whose behalf it asks.
     *
     * @param client what its client says of itself
     * @param context what the edge attaches to the request for the backend
     * @return completes when its backend has answered; fails on a fault of the backend or the store
     */
    public CompletionStage<Taking> take(String principal, RequestMeta client, Object context) {
        Key key = new Key(principal, client.capabilities().orElseThrow());
        if (alone) {
            return open(key, context, Use.ONCE);
        }
        return client.answers().isEmpty() ? share(key, context) : reuse(key, context);
    }

    /** One that carries nothing now, or a new one. */
    private CompletionStage<Taking> reuse(Key key, Object context) {
        Carrier[] last = new Carrier[1];
        idle.computeIfPresent(key, (any, carriers) -> {
            last[0] = carriers.pollLast();
            return carriers.isEmpty() ? null : carriers;
        });
        Carrier free = last[0];
        return free == null
                ? open(key, context, Use.IN_TURN)
                : alive(free, key)
                        .thenCompose(
                                is -> is ? CompletableFuture.completedFuture(new Taken(free)) : reuse(key, context));
    }

    private void free(Key key, Carrier carrier) {
        idle.compute(key, (any, carriers) -> {
            Deque<Carrier> free = carriers == null ? new ArrayDeque<>() : carriers;
            free.addLast(carrier);
            return free;
        });
    }

    private CompletionStage<Boolean> alive(Carrier carrier, Key key) {
        return engine.find(carrier.session().id(), key.principal)
                .thenApply(finding -> finding instanceof Finding.Found && carrier.enter());
    }

    private CompletionStage<Taking> share(Key key, Object context) {
        CompletableFuture<Taking> mine = new CompletableFuture<>();
        CompletableFuture<Taking> there = shared.putIfAbsent(key, mine);
        if (there != null) {
            return there.thenCompose(taking -> taking instanceof Taken taken
                    ? alive(taken.carrier, key).thenCompose(is -> {
                        if (is) {
                            return there;
                        }
                        shared.remove(key, there);
                        return share(key, context);
                    })
                    : there);
        }
        open(key, context, Use.SHARED).whenComplete((taking, failure) -> {
            if (!(taking instanceof Taken)) {
                shared.remove(key, mine);
            }
            if (failure == null) {
                mine.complete(taking);
            } else {
                mine.completeExceptionally(failure);
            }
        });
        return mine;
    }

    private CompletionStage<Taking> open(Key key, Object context, Use use) {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":" + FIRST_ID.token()
                + ",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" + REVISION + "\",\"capabilities\":"
                + key.capabilities + ",\"clientInfo\":{\"name\":\"holdfast\",\"version\":\"1\"}}}";
        InboundMessage initialize = new InboundMessage(
                InboundMessage.Kind.REQUEST, FIRST_ID, "initialize", body.getBytes(UTF_8), JournalChange.NONE, context);
        return engine.openCarrier(initialize, key.principal, lifetime)
                .thenApply(opening -> opened(opening, key, context, use));
    }

    private Taking opened(Opening opening, Key key, Object context, Use use) {
        if (opening instanceof Opening.Opened opened) {
            Session session = opened.session();
            byte[] body = ("{\"jsonrpc\":\"2.0\",\"method\":\"" + INITIALIZED + "\"}").getBytes(UTF_8);
            // a session of one call comes back for nobody, and needs no journal
            JournalChange change = use == Use.ONCE ? JournalChange.NONE : new JournalChange.Put(INITIALIZED);
            session.notify(new InboundMessage(
                            InboundMessage.Kind.NOTIFICATION, null, INITIALIZED, body, change, context))
                    .whenComplete((refusal, failure) -> Carrier.logged("told that it is initialized", failure));
            Carrier carrier =
                    new Carrier(engine, session, introduction(opened.response().bytes()), use, answering);
            if (use == Use.IN_TURN) {
                carrier.whenFreed(() -> free(key, carrier));
            } else if (use == Use.SHARED) {
                // somebody has to answer the pings of the backend
                carrier.feed().whenComplete((feed, failure) -> Carrier.logged("read", failure));
            }
            return new Taken(carrier);
        } else if (opening instanceof Opening.Refused refused) {
            return new Declined(refused.response());
        } else if (opening instanceof Unavailable unavailable) {
            return new Full(unavailable.reason());
        }
        throw new IllegalStateException("a session was opened that waits for its initialize");
    }

    private ServerIntroduction introduction(byte[] response) {
        Said last = said;
        if (!Arrays.equals(last.response, response)) {
            last = new Said(response, ServerIntroduction.of(response));
            said = last;
        }
        return last.introduction;
    }
}

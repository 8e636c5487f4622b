package dev.holdfast.modern;

import dev.holdfast.Finding;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.json.ServerIntroduction;
import dev.holdfast.json.ToolHeaders;
import dev.holdfast.modern.Carrier.Use;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

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
    private static final int MOST_PRINCIPALS = 1_000;
    private static final RequestId FIRST_ID = new RequestId("0");
    private static final String INITIALIZED = "notifications/initialized";

    private final SessionEngine engine;
    private final boolean alone;
    private final boolean anybody;
    private final Executor answering;
    private final Lifetime lifetime;
    /** Those that carry more than one request. */
    private final Map<Key, List<Place>> places = new ConcurrentHashMap<>();
    /** The same, by the ids of their sessions. */
    private final Map<String, Carrier> bySession = new ConcurrentHashMap<>();
    /** What is known of the tools that each principal sees. */
    private final Map<String, ToolHeaders> tools = new ConcurrentHashMap<>();

    private volatile Future<?> sweeping = CompletableFuture.completedFuture(null);
    /** What a backend has said last: it says the same to each carrier. */
    private volatile Said said = new Said(new byte[0], new ServerIntroduction("", "{}", ""));

    /** Which requests may share a carrier. */
    private record Key(String principal, String capabilities, Use use) {}

    private record Said(byte[] response, ServerIntroduction introduction) {}

    /** A carrier that is there, or on its way. Guarded by the list that it stands in. */
    private static final class Place {
        private final CompletableFuture<Taking> opening = new CompletableFuture<>();
        private @Nullable Carrier carrier;
        /** How many requests wait for it. */
        private int waiting;
        /** Whether its backend was another. */
        private boolean old;

        /** Takes one more request; false if it has enough. */
        private boolean enter(Use use) {
            if (old) {
                return false;
            }
            if (carrier != null) {
                return carrier.enter();
            }
            boolean takes = waiting < Carrier.most(use);
            waiting += takes ? 1 : 0;
            return takes;
        }
    }

    /** What became of the wish for a carrier. */
    public sealed interface Taking {}

    /**
     * It is there, and has taken the request.
     *
     * @param carrier the carrier
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
     * @param anybody whether requests of several principals share one, which is nobody's then
     * @param lifetime how long calls may run
     * @param keep how long a call is kept whose client may come back for it
     * @param answering gives answers to backends; a handler may go on there
     */
    public Carriers(
            SessionEngine engine,
            boolean alone,
            boolean anybody,
            Lifetime lifetime,
            Duration keep,
            Executor answering) {
        this.engine = engine;
        this.answering = answering;
        this.alone = alone;
        this.anybody = anybody;
        // those that nobody uses are ended here, by their use
        this.lifetime = lifetime.withGrace(keep).withIdle(keep);
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

    /** Carries requests by new ones from now on, for the backend is another; those that there are end when they are idle. */
    public void renew() {
        tools.clear();
        places.values().forEach(all -> {
            synchronized (all) {
                all.forEach(place -> place.old = true);
            }
        });
    }

    private void sweep() {
        List<Carrier> over = new ArrayList<>();
        for (Key key : places.keySet()) {
            places.computeIfPresent(key, (any, there) -> {
                synchronized (there) {
                    there.removeIf(
                            place -> place.carrier != null && place.carrier.isOver(IDLE) && over.add(place.carrier));
                    return there.isEmpty() ? null : there;
                }
            });
        }
        // nobody waits meanwhile for a lock that is held
        for (Carrier carrier : over) {
            bySession.remove(carrier.session().id(), carrier);
            carrier.endIfRetired();
        }
        bySession.values().forEach(Carrier::measure);
        bySession.values().forEach(Carrier::declineUnread);
    }

    /** The carrier that a session is. */
    Carrier of(Session session) {
        Carrier known = bySession.get(session.id());
        return known == null || known.session().state() == SessionState.CLOSED
                ? carrier(session, introduction(), new ToolHeaders(), alone ? Use.ONCE : Use.ELSEWHERE)
                : known;
    }

    private Carrier carrier(Session session, ServerIntroduction introduction, ToolHeaders headers, Use use) {
        return new Carrier(engine, session, introduction, headers, use, answering);
    }

    /** Whether requests of several principals share one. */
    boolean anybody() {
        return anybody;
    }

    /** Whose session carries the requests of a principal. */
    String owner(String principal) {
        return anybody ? "" : principal;
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
        Use use = alone ? Use.ONCE : client.answers().isEmpty() ? Use.SHARED : Use.IN_TURN;
        Key key = new Key(owner(principal), client.capabilities().orElseThrow(), use);
        return alone ? open(key, context) : place(key, context);
    }

    private CompletionStage<Taking> place(Key key, Object context) {
        Place fresh = new Place();
        Place[] found = {fresh};
        // under the lock of the key, so that a list that is found stays in the map
        List<Place> all = places.compute(key, (any, before) -> {
            List<Place> there = before == null ? new ArrayList<>() : before;
            synchronized (there) {
                there.stream().filter(place -> place.enter(key.use)).findFirst().ifPresent(place -> found[0] = place);
                if (found[0] == fresh) {
                    fresh.waiting = 1;
                    there.add(fresh);
                }
            }
            return there;
        });
        if (found[0] == fresh) {
            open(key, context).whenComplete((taking, failure) -> opened(fresh, all, taking, failure));
        }
        return found[0].opening.thenCompose(taking ->
                taking instanceof Taken taken ? alive(key, context, taken) : CompletableFuture.completedFuture(taking));
    }

    private void opened(Place place, List<Place> all, @Nullable Taking taking, @Nullable Throwable failure) {
        synchronized (all) {
            if (taking instanceof Taken taken) {
                // it has taken one already
                taken.carrier.enterMore(place.waiting - 1);
                place.carrier = taken.carrier;
                bySession.put(taken.carrier.session().id(), taken.carrier);
            } else {
                all.remove(place);
            }
        }
        if (taking != null) {
            place.opening.complete(taking);
        } else {
            place.opening.completeExceptionally(failure == null ? new IllegalStateException() : failure);
        }
    }

    /** Its session may have ended meanwhile: then another is taken. */
    private CompletionStage<Taking> alive(Key key, Object context, Taken taken) {
        Carrier carrier = taken.carrier;
        return engine.find(carrier.session().id(), key.principal)
                .whenComplete((finding, failure) -> {
                    if (!isThere(carrier, finding)) {
                        carrier.leave(false);
                    }
                })
                .thenCompose(finding -> {
                    if (isThere(carrier, finding)) {
                        return CompletableFuture.completedFuture(taken);
                    } else if (finding instanceof Unavailable unavailable) {
                        return CompletableFuture.completedFuture(new Full(unavailable.reason()));
                    }
                    carrier.gone();
                    return place(key, context);
                });
    }

    /** One that was parked meanwhile is there again as another. */
    private static boolean isThere(Carrier carrier, @Nullable Finding finding) {
        return finding instanceof Finding.Found && carrier.session().state() != SessionState.CLOSED;
    }

    private CompletionStage<Taking> open(Key key, Object context) {
        String params = "{\"protocolVersion\":\"" + REVISION + "\",\"capabilities\":" + key.capabilities
                + ",\"clientInfo\":{\"name\":\"holdfast\",\"version\":\"1\"}}";
        byte[] body = JsonRpc.request(FIRST_ID, "initialize", params);
        InboundMessage initialize = new InboundMessage(
                InboundMessage.Kind.REQUEST, FIRST_ID, "initialize", body, JournalChange.NONE, context);
        return engine.openCarrier(initialize, key.principal, lifetime)
                .thenApply(opening -> opened(opening, key, context));
    }

    private Taking opened(Opening opening, Key key, Object context) {
        if (opening instanceof Opening.Opened opened) {
            Session session = opened.session();
            byte[] body = JsonRpc.notification(INITIALIZED, "");
            // a session of one call comes back for nobody, and needs no journal
            JournalChange change = key.use == Use.ONCE ? JournalChange.NONE : new JournalChange.Put(INITIALIZED);
            session.notify(new InboundMessage(
                            InboundMessage.Kind.NOTIFICATION, null, INITIALIZED, body, change, context))
                    .whenComplete((refusal, failure) -> Carrier.logged("told that it is initialized", failure));
            Carrier carrier = carrier(session, introduction(opened.response().bytes()), tools(key.principal), key.use);
            if (key.use == Use.SHARED) {
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

    private ToolHeaders tools(String principal) {
        if (tools.size() > MOST_PRINCIPALS) {
            tools.clear();
        }
        return tools.computeIfAbsent(principal, any -> new ToolHeaders());
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

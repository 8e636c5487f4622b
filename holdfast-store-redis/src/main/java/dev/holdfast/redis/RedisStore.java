package dev.holdfast.redis;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterBus;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SharedSessionStore;
import dev.holdfast.spi.StreamId;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * Keeps sessions in Redis 6.2 or newer, or what speaks its language, for as many nodes as use it: one server, one that sentinels
 * watch, or a Redis Cluster. A completed append survives the death of every node; whether it survives that of Redis is a matter of
 * how Redis is configured (append-only file, replicas).
 *
 * <p>A node has at most four connections, in a cluster to each of its masters: for commands, for large ones, for hints, and one that
 * waits for messages of other nodes. Whatever changes a session is one script, done whole or not at all. Where Redis does not answer in time,
 * stages fail with a {@link RedisStoreException}; no method blocks. It needs no restart when Redis is back. What a
 * restart or a failover of Redis may have lost is told as a possible gap.
 *
 * <p>Sessions expire by the clock of Redis, whatever the clock of a node's machine says. Stages complete on threads of the store's own, or at once; whoever goes on there may
 * take a moment, but must not wait for another stage of the store.
 */
public final class RedisStore implements SharedSessionStore {
    // as every process that dies is one that uses the store
    private static final Promise PROMISE = new Promise(Durability.PROCESS_DEATH, true);

    private final RedisConnections connections;
    private final SessionScripts scripts;
    private final Tails tails;
    private final RedisClock time;
    private final InstantSource clock;
    private final RedisBus bus;
    private final PrincipalScripts principals;

    RedisStore(RedisStoreBuilder builder) {
        connections = RedisConnections.open(builder.connection());
        try {
            scripts =
                    new SessionScripts(connections.scripts(), connections.completions(), builder.prefix, builder.clock);
            tails = new Tails(connections);
            CompletionStage<Long> now =
                    connections.commands().run(redis -> redis.time()).thenApply(RedisStore::millis);
            time = new RedisClock(connections.shown(), builder.wall, connections.await(now));
            clock = builder.clock.orElse(time);
            bus = new RedisBus(connections, builder, time);
            connections.await(bus.enter());
            principals = new PrincipalScripts(
                    connections.scripts(), connections.completions(), builder.prefix, builder.clock);
        } catch (RuntimeException | Error e) {
            connections.close();
            throw e;
        }
    }

    /**
     * A builder with every default.
     *
     * @param url {@code redis://[[user:]password@]host[:port][/database]}; {@code rediss://} for TLS; {@code
     *     redis-sentinel://host[:port],host[:port].../database#master}; {@code redis-cluster://host[:port],host[:port]...}; also
     *     {@code rediss-sentinel} and {@code rediss-cluster}
     * @throws IllegalArgumentException where it is none of them; the message names no password
     */
    public static RedisStoreBuilder builder(String url) {
        return new RedisStoreBuilder(url);
    }

    @Override
    public Promise promise() {
        return PROMISE;
    }

    /** Seconds, and microseconds. */
    private static long millis(List<byte[]> time) {
        return Codec.digits(time.get(0)) * 1000 + Codec.digits(time.get(1)) / 1000;
    }

    /** The clock of Redis, read at the start and with each renewal of the lease. */
    @Override
    public Optional<InstantSource> clock() {
        return Optional.of(clock);
    }

    @Override
    public ClusterBus bus() {
        return bus;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        List<byte[]> arguments =
                scripts.arguments(Codec.epoch(epoch), Codec.text(node), Codec.digits(record.expiresAt()));
        arguments.addAll(StoredSession.fields(record));
        CompletableFuture<Void> created = new CompletableFuture<>();
        scripts.did(Script.CREATE, key, arguments).whenComplete((done, failure) -> {
            if (failure != null) {
                created.completeExceptionally(failure);
            } else if (done) {
                created.complete(null);
            } else {
                created.completeExceptionally(new IllegalStateException("the session exists"));
            }
        });
        return created;
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return enter(key, nonce, "", "claim", StoredSession::claim);
    }

    @Override
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        return enter(key, nonce, node, "join", StoredSession::joined);
    }

    private <T> CompletionStage<Optional<T>> enter(
            SessionKey key, int nonce, String node, String how, Function<StoredSession, T> reader) {
        List<byte[]> arguments = scripts.arguments(
                Codec.packed(nonce),
                Codec.text(node),
                Codec.text(how),
                Codec.digits((long) EPOCHS_KEPT * Codec.EPOCH_BYTES));
        return scripts.ask(Script.JOIN, key, arguments, answer -> reader.apply(stored(answer)));
    }

    private static StoredSession stored(List<Object> answer) {
        return new StoredSession((List<?>) answer.get(1));
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return scripts.ask(
                Script.LOOK, key, scripts.arguments(), answer -> stored(answer).look());
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return scripts.always(
                Script.FENCE, key, scripts.arguments(Codec.epoch(epoch)), answer -> (Long) answer.get(1) == 1);
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return scripts.always(
                Script.MEMBERS, key, scripts.arguments(), answer -> StoredSession.members((List<?>) answer.get(1)));
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        return commit(key, epoch, number, append, answer -> new Appended((Long) answer.get(1), (Long) answer.get(2)));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        CompletableFuture<Void> appended = new CompletableFuture<>();
        commit(key, epoch, UNNUMBERED, append).whenComplete((done, failure) -> {
            if (failure == null) {
                appended.complete(null);
            } else {
                appended.completeExceptionally(failure);
            }
        });
        return appended;
    }

    private <T> CompletionStage<T> commit(
            SessionKey key, Epoch epoch, long number, Append append, Function<List<Object>, T> reader) {
        List<byte[]> arguments = scripts.arguments(Codec.epoch(epoch), Codec.digits(number));
        Changes.add(append, arguments);
        return scripts.under(epoch, Script.COMMIT, key, arguments, reader);
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        List<byte[]> arguments = scripts.arguments(
                Codec.epoch(epoch), StoredSession.token(part, stream), Codec.digits(expected), Codec.digits(token));
        return scripts.under(epoch, Script.TOKEN, key, arguments, answer -> Codec.digits((byte[]) answer.get(1)));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        if (after == Long.MAX_VALUE) {
            return CompletableFuture.completedFuture(List.of());
        }
        List<byte[]> arguments =
                scripts.arguments(Codec.stream(stream), Codec.packed(after + 1), Codec.digits(maxBytes));
        return scripts.always(Script.READ, key, arguments, RedisStore::events);
    }

    private static List<Event> events(List<Object> answer) {
        List<Event> events = new ArrayList<>();
        for (Object member : (List<?>) answer.get(1)) {
            events.add(EventCodec.event((byte[]) member));
        }
        return events;
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return principals.count(principal, key, until, most);
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        return principals.uncount(principal, key);
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        return tails.tail(scripts.name(key), hinted);
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return scripts.always(Script.DELETE, key, scripts.arguments(new byte[0]), answer -> null);
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return scripts.did(Script.DELETE, key, scripts.arguments(Codec.epoch(epoch)));
    }

    /** Why Redis cannot be used now; empty while it answers, and takes what is written. Names no password. */
    @Override
    public Optional<String> trouble() {
        return connections.trouble();
    }

    /**
     * Redis' own words for why it answers and does not do what it is asked, as where it is full; empty while it does, and while it does
     * not answer. Names no password.
     */
    public Optional<String> refusal() {
        return connections.refusal();
    }

    /** Closes the connections; what is on its way fails. Not to be called where one of its stages completes. */
    @Override
    public void close() {
        bus.close();
        tails.close();
        connections.close();
    }
}

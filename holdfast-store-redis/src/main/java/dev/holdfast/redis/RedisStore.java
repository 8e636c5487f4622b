package dev.holdfast.redis;

import static dev.holdfast.redis.RedisCodec.digits;
import static dev.holdfast.redis.RedisCodec.packed;
import static dev.holdfast.redis.RedisCodec.text;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.cluster.ClusterNodes;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import java.nio.ByteBuffer;
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
 * waits for messages of other nodes. Whatever changes a session is one script, done whole or not at all. If Redis does not answer in
 * time, stages fail with a {@link RedisStoreException}; no method blocks. It needs no restart when Redis is back. What a restart or a
 * failover of Redis may have lost is told as a possible gap.
 *
 * <p>Sessions expire by the clock of Redis, whatever the clock of a node's machine says. Stages complete on threads of the store's own,
 * or at once; code that goes on there may take a moment, but must not wait for another stage of the store.
 */
public final class RedisStore implements SharedSessionStore {
    // as every process that dies is one that uses the store
    private static final Promise PROMISE = new Promise(Durability.PROCESS_DEATH, true);

    private final String prefix;
    private final RedisConnections connections;
    private final HintSubscriptions hints;
    private final InstantSource clock;
    private final RedisBus bus;

    RedisStore(RedisStoreBuilder builder) {
        prefix = builder.prefix;
        connections = new RedisConnections(builder.connection(), builder.clock);
        try {
            hints = new HintSubscriptions(connections);
            CompletionStage<Long> now = connections.run(redis -> redis.time()).thenApply(RedisStore::millis);
            RedisClock time = new RedisClock(connections.shown(), builder.wall, connections.await(now));
            clock = builder.clock.orElse(time);
            bus = new RedisBus(connections, prefix, builder.owner(), time);
            connections.await(bus.enter());
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
     * @throws IllegalArgumentException if it is none of them; the message names no password
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
        return digits(time.get(0)) * 1000 + digits(time.get(1)) / 1000;
    }

    /** The clock of Redis, read at the start and with each renewal of the lease. */
    @Override
    public Optional<InstantSource> clock() {
        return Optional.of(clock);
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return Optional.of(ClusterNodes.sharing(this));
    }

    @Override
    public ClusterBus bus() {
        return bus;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        List<byte[]> arguments = new ArrayList<>();
        arguments.add(RedisCodec.epoch(epoch));
        arguments.add(text(node));
        arguments.add(digits(record.expiresAt()));
        arguments.addAll(SessionHash.fields(record));
        return run(
                Script.CREATE,
                key,
                answer -> {
                    if (Script.word(answer) == Script.REFUSED) {
                        throw new IllegalStateException("the session exists");
                    }
                    return null;
                },
                arguments.toArray(byte[][]::new));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return join(key, nonce, "", "claim", SessionHash::claim);
    }

    @Override
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        return join(key, nonce, node, "join", SessionHash::joined);
    }

    private <T> CompletionStage<Optional<T>> join(
            SessionKey key, int nonce, String node, String how, Function<SessionHash, T> reader) {
        byte[] kept = digits((long) EPOCHS_KEPT * RedisCodec.EPOCH_BYTES);
        return whole(Script.JOIN, key, reader, packed(nonce), text(node), text(how), kept);
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return whole(Script.LOOK, key, SessionHash::look);
    }

    /** Runs a script that returns the whole record; empty if the session is not there. */
    private <T> CompletionStage<Optional<T>> whole(
            Script script, SessionKey key, Function<SessionHash, T> reader, byte[]... arguments) {
        return run(
                script,
                key,
                answer -> Script.word(answer) == Script.GONE
                        ? Optional.empty()
                        : Optional.of(decoded(answer, found -> reader.apply(new SessionHash((List<?>) found.get(1))))),
                arguments);
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return run(Script.FENCE, key, answer -> (Long) answer.get(1) == 1, RedisCodec.epoch(epoch));
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return run(
                Script.MEMBERS, key, answer -> decoded(answer, found -> SessionHash.members((List<?>) found.get(1))));
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        return commit(key, epoch, number, append, answer -> new Appended((Long) answer.get(1), (Long) answer.get(2)));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return commit(key, epoch, UNNUMBERED, append, answer -> null);
    }

    private <T> CompletionStage<T> commit(
            SessionKey key, Epoch epoch, long number, Append append, Function<List<Object>, T> reader) {
        List<byte[]> arguments = new ArrayList<>();
        arguments.add(RedisCodec.epoch(epoch));
        arguments.add(digits(number));
        SessionHash.addTo(arguments, append);
        return under(epoch, Script.COMMIT, key, reader, arguments.toArray(byte[][]::new));
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        return under(
                epoch,
                Script.TOKEN,
                key,
                answer -> digits((byte[]) answer.get(1)),
                RedisCodec.epoch(epoch),
                SessionHash.token(part, stream),
                digits(expected),
                digits(token));
    }

    /** Runs a script under an epoch; fails if that is not present, or the session is not there. */
    private <T> CompletionStage<T> under(
            Epoch epoch, Script script, SessionKey key, Function<List<Object>, T> reader, byte[]... arguments) {
        Function<List<Object>, T> checked = answer -> {
            if (Script.word(answer) == Script.GONE) {
                throw new IllegalStateException("no such session");
            }
            if (Script.word(answer) == Script.STALE) {
                throw new StaleEpochException(epoch, RedisCodec.epoch(ByteBuffer.wrap((byte[]) answer.get(1))));
            }
            return decoded(answer, reader);
        };
        return run(script, key, checked, arguments);
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        if (after == Long.MAX_VALUE) {
            return CompletableFuture.completedFuture(List.of());
        }
        return run(
                Script.READ,
                key,
                answer -> decoded(answer, RedisStore::events),
                RedisCodec.stream(stream),
                packed(after + 1),
                digits(maxBytes));
    }

    private static List<Event> events(List<Object> answer) {
        List<Event> events = new ArrayList<>();
        for (Object member : (List<?>) answer.get(1)) {
            events.add(RedisCodec.event((byte[]) member));
        }
        return events;
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        return hints.tail(RedisCodec.record(prefix, key), hinted);
    }

    @Override
    public CompletionStage<List<Member>> remove(SessionKey key) {
        return run(Script.DELETE, key, RedisStore::removed, new byte[0]);
    }

    /** The session is gone, whether or not it can be read who had it. */
    private static List<Member> removed(List<Object> answer) {
        try {
            return SessionHash.members((List<?>) answer.get(1));
        } catch (RuntimeException e) {
            return List.of();
        }
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return run(Script.DELETE, key, answer -> Script.word(answer) != Script.REFUSED, RedisCodec.epoch(epoch));
    }

    private <T> CompletionStage<T> run(
            Script script, SessionKey key, Function<List<Object>, T> reader, byte[]... arguments) {
        byte[] record = RedisCodec.record(prefix, key);
        return connections.run(script, new byte[][] {record, RedisCodec.events(record)}, key, reader, arguments);
    }

    private static <T> T decoded(List<Object> answer, Function<List<Object>, T> reader) {
        try {
            return reader.apply(answer);
        } catch (RedisStoreException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new UnreadableSessionException("what Redis has of a session is not what was written", e);
        }
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return run(
                Script.COUNT,
                principal,
                RedisStore::counted,
                RedisCodec.session(key),
                digits(until),
                digits(most),
                digits(COUNTED_TOLD));
    }

    private static Counted counted(List<Object> answer) {
        List<SessionKey> first = new ArrayList<>();
        boolean counts = Script.word(answer) != Script.REFUSED;
        if (!counts) {
            ((List<?>) answer.get(1))
                    .forEach(member -> first.add(RedisCodec.session(ByteBuffer.wrap((byte[]) member))));
        }
        return new Counted(counts, first);
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        return run(Script.UNCOUNT, principal, answer -> null, RedisCodec.session(key));
    }

    private <T> CompletionStage<T> run(
            Script script, String principal, Function<List<Object>, T> reader, byte[]... arguments) {
        byte[][] keys = {RedisCodec.principal(prefix, principal)};
        return connections.run(script, keys, principal, reader, arguments);
    }

    /** Why Redis cannot be used now; empty while it answers, and takes what is written. Names no password. */
    @Override
    public Optional<String> trouble() {
        return connections.trouble();
    }

    /**
     * Redis' own words for why it answers and does not do what it is asked, as when it is full; empty while it does, and while it does
     * not answer. Names no password.
     */
    public Optional<String> refusal() {
        return connections.refusal();
    }

    /** Closes the connections; what is on its way fails. Not to be called where one of its stages completes. */
    @Override
    public void close() {
        bus.close();
        hints.close();
        connections.close();
    }
}

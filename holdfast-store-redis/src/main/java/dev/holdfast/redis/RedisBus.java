package dev.holdfast.redis;

import dev.holdfast.spi.ClusterBus;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Leases and inboxes. All of them are in one slot: a sorted set of the incarnations, by the time at which their leases lapse, and for
 * each inbox a stream, and a hash that counts its bytes.
 */
final class RedisBus implements ClusterBus, AutoCloseable {
    private static final int REFUSED = 3;

    private final RedisConnections connections;
    private final Scripts scripts;
    private final Optional<InstantSource> clock;
    private final RedisClock time;
    private final Optional<PrefixOwner> owner;
    private final String prefix;
    private final String slot;
    private final byte[] leases;
    /** Those that are not closed yet. */
    private final Map<String, InboxReader> inboxes = new ConcurrentHashMap<>();

    RedisBus(RedisConnections connections, RedisStoreBuilder builder, RedisClock time) {
        this.connections = connections;
        this.scripts = connections.scripts();
        this.clock = builder.clock;
        this.time = time;
        this.owner = builder.owner();
        this.prefix = builder.prefix;
        this.slot = prefix + "{bus}";
        this.leases = Codec.text(slot + "leases");
    }

    private byte[] inbox(String node) {
        return Codec.text(slot + "inbox:" + node);
    }

    /** Completes when the prefix is this service's; fails where it is another one's. */
    CompletionStage<Void> enter() {
        return owner.map(service -> service.enter(connections.commands(), connections.shown(), prefix))
                .orElse(CompletableFuture.completedFuture(null));
    }

    /** Redis may have lost whose the prefix is, and another service have come. */
    @Override
    public CompletionStage<Void> begin(String node, Duration lease) {
        return enter().thenCompose(entered -> beginEntered(node, lease));
    }

    private CompletionStage<Void> beginEntered(String node, Duration lease) {
        CompletableFuture<Void> begun = new CompletableFuture<>();
        run(Script.BEGIN, node, answer -> word(answer) != REFUSED, Codec.digits(lease.toMillis()))
                .whenComplete((lives, failure) -> {
                    if (failure != null) {
                        begun.completeExceptionally(failure);
                    } else if (lives) {
                        begun.complete(null);
                    } else {
                        begun.completeExceptionally(new IllegalStateException(node + " lives already"));
                    }
                });
        return begun;
    }

    @Override
    public CompletionStage<Boolean> renew(String node, Duration lease) {
        return run(
                Script.RENEW,
                node,
                answer -> {
                    time.follow((Long) answer.get(1));
                    return word(answer) != REFUSED;
                },
                Codec.digits(lease.toMillis()));
    }

    @Override
    public CompletionStage<Void> end(String node) {
        return run(Script.END, node, answer -> null);
    }

    @Override
    public CompletionStage<Set<String>> living() {
        return run(Script.LIVING, "", answer -> {
            Set<String> living = new TreeSet<>();
            ((List<?>) answer.get(1)).forEach(name -> living.add(Codec.text((byte[]) name)));
            return living;
        });
    }

    @Override
    public CompletionStage<Boolean> send(String node, byte[] message) {
        return run(
                Script.SEND,
                node,
                answer -> word(answer) != REFUSED,
                Codec.digits(INBOX_MESSAGES),
                Codec.digits(INBOX_BYTES),
                message);
    }

    private <T> CompletionStage<T> run(
            Script script, String node, Function<List<Object>, T> reader, byte[]... arguments) {
        List<byte[]> all = new ArrayList<>();
        all.add(clock.map(followed -> Codec.digits(followed.millis())).orElse(new byte[0]));
        all.add(Codec.text(node));
        all.addAll(List.of(arguments));
        byte[][] keys = {leases, inbox(node), Codec.text(slot + "bytes:" + node)};
        return scripts.run(script, keys, all, reader, connections.completions().of(node));
    }

    private static int word(List<Object> answer) {
        return Math.toIntExact((Long) answer.get(0));
    }

    @Override
    public Inbox receive(String node, Consumer<byte[]> handler) {
        InboxReader reader = new InboxReader(
                connections,
                inbox(node),
                handler,
                (next, bytes) -> run(Script.HAD, node, answer -> null, Codec.text(next), Codec.digits(bytes)));
        inboxes.put(node, reader);
        reader.start();
        return () -> {
            inboxes.remove(node, reader);
            reader.close();
        };
    }

    @Override
    public void close() {
        inboxes.values().forEach(InboxReader::close);
    }
}

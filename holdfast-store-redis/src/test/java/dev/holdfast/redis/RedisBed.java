package dev.holdfast.redis;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.tck.DamagedBed;
import dev.holdfast.tck.LossyBed;
import dev.holdfast.tck.SharedBed;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;

/** Two stores over one Redis, under a prefix of their own, with a clock that stands until the test moves it. */
final class RedisBed implements SharedBed, DamagedBed, LossyBed {
    private final String url;
    private final String prefix = "bed-" + UUID.randomUUID() + ":";
    private final List<RedisStore> opened = new ArrayList<>();
    private Instant now = Instant.ofEpochMilli(System.currentTimeMillis());
    private RedisStore here;
    private final RedisStore there;

    RedisBed(String url) {
        this.url = url;
        here = open();
        there = open();
    }

    private RedisStore open() {
        RedisStoreBuilder builder =
                RedisStore.builder(url).timeout(Given.PATIENCE).prefix(prefix);
        InstantSource clock = () -> now;
        builder.clock = Optional.of(clock);
        RedisStore store = builder.open();
        opened.add(store);
        return store;
    }

    @Override
    public SharedSessionStore store() {
        return here;
    }

    @Override
    public SharedSessionStore elsewhere() {
        return there;
    }

    @Override
    public long millis() {
        return now.toEpochMilli();
    }

    @Override
    public void advance(Duration duration) {
        now = now.plus(duration);
    }

    @Override
    public void reopen() {
        here.close();
        here = open();
    }

    @Override
    public void crash() {
        here = open();
    }

    @Override
    public void spoilRecord(SessionKey key) {
        inside(redis -> redis.set(name(key), new byte[] {1}));
    }

    @Override
    public void spoilEvent(SessionKey key, long offset) {
        inside(redis -> {
            byte[] events = RedisCodec.events(name(key));
            byte[] start = ByteBuffer.allocate(20).putLong(12, offset).array();
            byte[] whole = redis.zrange(events, 0, -1).stream()
                    .filter(member -> ByteBuffer.wrap(member, 0, 20).equals(ByteBuffer.wrap(start)))
                    .findFirst()
                    .orElseThrow();
            redis.zrem(events, whole);
            redis.zadd(events, 0, Arrays.copyOf(whole, 25));
        });
    }

    @Override
    public void loseEvents(SessionKey key) {
        inside(redis -> redis.del(RedisCodec.events(name(key))));
    }

    private byte[] name(SessionKey key) {
        return RedisCodec.record(prefix, key);
    }

    private void inside(Consumer<RedisCommands<byte[], byte[]>> work) {
        try (RedisClient client = RedisClient.create(url);
                var connection = client.connect(ByteArrayCodec.INSTANCE)) {
            work.accept(connection.sync());
        }
    }

    @Override
    public void close() {
        opened.forEach(RedisStore::close);
    }
}

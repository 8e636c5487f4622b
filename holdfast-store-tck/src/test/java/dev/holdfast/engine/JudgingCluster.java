package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.cluster.ClusterNodes;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import dev.holdfast.tck.MemoryCluster;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;

/** A shared store that looks at each commit: whether each stream of a call has one writer, and goes on where it ended. */
final class JudgingCluster implements SharedSessionStore {
    private final MemoryCluster store;
    private final Set<Object> done = new HashSet<>();
    private final Map<Object, Epoch> writers = new HashMap<>();
    private final Map<Object, Long> ends = new HashMap<>();
    private final Map<SessionKey, List<String>> listening = new HashMap<>();
    private final List<String> acknowledged = new ArrayList<>();
    private final List<String> wrong = new ArrayList<>();

    private record Numbered(SessionKey key, Epoch epoch, long number) {}

    private record Name(SessionKey key, StreamId stream) {}

    JudgingCluster(VirtualTime time) {
        this.store = new MemoryCluster(time, time);
    }

    void acknowledge(String text) {
        acknowledged.add(text);
    }

    /** What a session's listening stream got that was told to be committed. */
    List<String> acknowledged(String id) {
        return listening(id).stream().filter(acknowledged::contains).toList();
    }

    /** Everything that a session's listening stream ever got, in order. */
    List<String> listening(String id) {
        return listening.getOrDefault(SessionKey.of(id, ""), List.of());
    }

    void wrong(String what) {
        wrong.add(what);
    }

    void check() {
        assertThat(wrong).isEmpty();
        assertThat(listening.values().stream().flatMap(List::stream).toList())
                .as("what was told to be committed is in the log")
                .containsAll(acknowledged);
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        return store.commit(key, epoch, number, append).thenApply(appended -> {
            if (done.add(new Numbered(key, epoch, number))) {
                append.events().forEach(event -> judge(key, epoch, event));
            }
            return appended;
        });
    }

    private void judge(SessionKey key, Epoch epoch, Event event) {
        if (event.stream().equals(StreamId.LISTENING)) {
            listening.computeIfAbsent(key, name -> new ArrayList<>()).add(Wire.text(event));
            return;
        }
        Name name = new Name(key, event.stream());
        long last = ends.getOrDefault(name, 0L);
        if (event.offset() != last + 1) {
            wrong("after " + last + " comes " + event);
        }
        ends.put(name, event.offset());
        Epoch before = writers.put(name, epoch);
        boolean another = before != null && !before.equals(epoch) && before.counter() > epoch.counter();
        if (another) {
            wrong(event + " is written under " + epoch + " after " + before);
        }
    }

    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public Optional<InstantSource> clock() {
        return store.clock();
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return Optional.of(ClusterNodes.sharing(this));
    }

    @Override
    public ClusterBus bus() {
        return store.bus();
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        return store.create(key, epoch, record, node);
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return store.claim(key, nonce);
    }

    @Override
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        return store.join(key, nonce, node);
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return store.look(key);
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return store.fence(key, epoch);
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return store.members(key);
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        return store.token(key, epoch, stream, part, expected, token);
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return store.count(principal, key, until, most);
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        return store.uncount(principal, key);
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        return store.tail(key, hinted);
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return store.read(key, stream, after, maxBytes);
    }

    @Override
    public CompletionStage<List<Member>> remove(SessionKey key) {
        return store.remove(key);
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return store.delete(key, epoch);
    }

    @Override
    public void close() {
        store.close();
    }
}

package dev.holdfast.engine;

import dev.holdfast.Session;
import dev.holdfast.log.Pending;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import dev.holdfast.tck.MemoryStore;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** A store in memory that is as slow and as unreliable as a test wants it. Appends and claims wait while it holds. */
final class TestStore implements SessionStore {
    /** What becomes of an append or a claim. */
    enum Fate {
        DONE,
        /** It fails and has not happened. */
        LOST,
        /** It fails, though it has happened. */
        KEPT
    }

    /** An append or a claim on its way. */
    final class Pending<T> {
        final String what;
        private final Supplier<CompletionStage<T>> effect;
        private final CompletableFuture<T> stage = new CompletableFuture<>();

        private Pending(String what, Supplier<CompletionStage<T>> effect) {
            this.what = what;
            this.effect = effect;
        }

        void become(Fate fate) {
            CompletableFuture<T> happened = fate == Fate.LOST ? stage : happen();
            if (fate != Fate.DONE) {
                fail();
                return;
            }
            waiting.remove(this);
            happened.whenComplete((value, failure) -> {
                if (failure == null) {
                    stage.complete(value);
                } else {
                    stage.completeExceptionally(failure);
                }
            });
        }

        /** Happens, unless the store refuses it; whoever waits does not learn of it. */
        CompletableFuture<T> happen() {
            return effect.get().toCompletableFuture();
        }

        /** Fails, as far as whoever waits can tell. */
        void fail() {
            waiting.remove(this);
            stage.completeExceptionally(new IllegalStateException("the store is away"));
        }
    }

    final MemoryStore kept;
    final List<Append> appended = new ArrayList<>();
    final List<SessionKey> deleted = new ArrayList<>();
    private final Deque<Pending<?>> waiting = new ArrayDeque<>();
    private final Deque<Fate> fates = new ArrayDeque<>();
    boolean refuseAppends;
    /** What never succeeds again, by the method's name, until the session is deleted. */
    String damaged = "";

    /** Which of append and claim throws an error the next time, as where a class is missing. */
    String breaking = "";

    Durability durability = Durability.NOTHING;
    boolean shared;
    /** The epoch since which nothing was lost, as claims tell from now on. */
    int certainFrom = 1;
    /** How many claims have come. */
    int claims;
    /** A deletion that waits, if deletions do. */
    Optional<CompletableFuture<Void>> deleting = Optional.empty();

    /** Lets reads wait, if they do. */
    Optional<CompletableFuture<Void>> reading = Optional.empty();

    private boolean holding;

    /** By which sessions expire. */
    InstantSource clock;

    TestStore(VirtualTime time) {
        clock = new ExpiryClock(time, time);
        kept = new MemoryStore(() -> clock.instant());
    }

    /** Lets appends and claims wait from here on. */
    void hold() {
        holding = true;
    }

    /** Lets all go that wait, and waits no more. */
    void release() {
        holding = false;
        while (!waiting.isEmpty()) {
            next().become(Fate.DONE);
        }
    }

    /** What becomes of the next appends and claims that do not wait, in order; then all is well again. */
    void decree(Fate... next) {
        fates.addAll(List.of(next));
    }

    /** What is kept of a session's listening stream. */
    List<Event> kept(Session session) {
        SessionKey key = SessionKey.of(session.id(), "");
        return kept.read(key, StreamId.LISTENING, 0, Integer.MAX_VALUE)
                .toCompletableFuture()
                .join();
    }

    int waiting() {
        return waiting.size();
    }

    /** The oldest operation that waits. */
    Pending<?> next() {
        return waiting.getFirst();
    }

    private <T> CompletionStage<T> unless(String method, Supplier<CompletionStage<T>> action) {
        return damaged.contains(method)
                ? CompletableFuture.failedFuture(
                        new UnreadableSessionException("a block is damaged", new IllegalStateException("checksum")))
                : action.get();
    }

    private <T> CompletionStage<T> later(String what, Supplier<CompletionStage<T>> effect) {
        if (breaking.equals(what)) {
            breaking = "";
            throw new NoClassDefFoundError("expected");
        }
        Pending<T> pending = new Pending<>(what, effect);
        waiting.add(pending);
        if (!holding) {
            Fate fate = fates.poll();
            pending.become(fate == null ? Fate.DONE : fate);
        }
        return pending.stage;
    }

    @Override
    public Promise promise() {
        return new Promise(durability, shared);
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return kept.create(key, epoch, record);
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        claims++;
        return later(
                "claim",
                () -> unless("claim", () -> kept.claim(key, nonce))
                        .thenApply(claim -> claim.map(found -> new Claim(
                                found.epoch(), found.before(), found.record(), found.streams(), certainFrom))));
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return unless("look", () -> kept.look(key));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return later("append", () -> {
            if (refuseAppends) {
                return CompletableFuture.failedFuture(new IllegalStateException("no room"));
            }
            appended.add(append);
            return unless("append", () -> kept.append(key, epoch, append));
        });
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return reading.<CompletionStage<List<Event>>>map(
                        wait -> wait.thenCompose(go -> kept.read(key, stream, after, maxBytes)))
                .orElseGet(() -> unless("read", () -> kept.read(key, stream, after, maxBytes)));
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        deleted.add(key);
        damaged = "";
        return deleting.<CompletionStage<Void>>map(wait -> wait.thenCompose(go -> kept.delete(key)))
                .orElseGet(() -> kept.delete(key));
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return deleting.<CompletionStage<Boolean>>map(wait -> wait.thenCompose(go -> kept.delete(key, epoch)))
                .orElseGet(() -> kept.delete(key, epoch));
    }

    @Override
    public void close() {
        kept.close();
    }
}

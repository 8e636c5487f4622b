package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Opening;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What engines of one process share. */
class EngineGroupTest {
    private static final long LIMIT = 900;
    private static final int MOST_OF_IT = 800;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @AutoClose("shutdownNow")
    private final ScheduledExecutorService clock = Executors.newScheduledThreadPool(1);

    private final EngineGroup group = new EngineGroup(3, 100, System::nanoTime, clock, Runnable::run);

    /** An engine whose sessions keep so much. */
    private record Sessions(AtomicInteger kept) implements EngineGroup.Kept {
        Sessions(int kept) {
            this(new AtomicInteger(kept));
        }

        @Override
        public long bytes() {
            return kept.get();
        }

        @Override
        public long events() {
            return kept.get();
        }
    }

    private long room(Sessions engine) {
        return group.room(engine, LIMIT, EngineGroup.Kept::bytes);
    }

    private Sessions joined(int kept) {
        Sessions engine = new Sessions(kept);
        group.join(engine, () -> 0, principal -> false);
        return engine;
    }

    @Test
    void anEngineMayKeepWhatTheOthersLeaveAndItsPartInAnyCase() {
        Sessions busy = joined(MOST_OF_IT);
        assertThat(room(busy)).isEqualTo(LIMIT);

        Sessions idle = joined(100);
        Sessions other = joined(0);

        assertThat(List.of(room(busy), room(idle), room(other))).containsExactly(800L, 300L, 300L);
        group.leave(busy);
        assertThat(List.of(room(idle), room(other))).containsExactly(900L, 800L);
    }

    @Test
    void theEngineWithMostSessionsMakesRoomForTheOthers() {
        AtomicInteger asked = new AtomicInteger();
        group.join(new Sessions(0), () -> 1, principal -> asked.compareAndSet(0, 1));
        group.join(new Sessions(0), () -> 5, principal -> asked.compareAndSet(0, 5));
        fill();

        assertThat(asked).hasValue(5);
    }

    @Test
    void aBackendWithoutPlacesEndsNoConnectionForAnother() {
        VirtualTime time = new VirtualTime();
        TestBackend unlimited = new TestBackend();
        SessionEngine engine = SessionEngine.builder(unlimited, Wire.MESSAGES)
                .clock(time)
                .wallClock(time)
                .scheduler(time)
                .executor(Runnable::run)
                .group(group)
                .build()
                .start();
        for (int i = 0; i < 2; i++) {
            Opening opening = TestBed.now(engine.open(Wire.initialize(), "", TestBed.LIFETIME));
            TestBed.now(((Opening.Opened) opening).session().notify(Wire.notification("used")));
        }
        AtomicInteger asked = new AtomicInteger();
        group.join(new Sessions(0), () -> 1, principal -> asked.compareAndSet(0, 1));

        fill();

        assertThat(asked).hasValue(1);
        assertThat(unlimited.lives).hasSize(2).allMatch(life -> life.closed == 0);
        engine.drain(Duration.ZERO);
        time.advance(Duration.ofMinutes(1));
    }

    @Test
    void whoFailsToMakeRoomKeepsNobodyWaitingForEver() {
        group.join(new Sessions(0), () -> 1, principal -> {
            throw new IllegalStateException("no room, as the test wants it");
        });
        LimitedBackend.BackendPlaces.Place first = fill().get(0);
        LimitedBackend.BackendPlaces.Place waiting =
                group.places(3).orElseThrow().ask("", Duration.ofMinutes(1));

        first.free();

        assertThat(TestBed.now(waiting.granted())).isTrue();
    }

    /** What comes free at the last moment is seen, whether its end was known before or not. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPlaceThatComesFreeWhileRoomIsLookedForIsNotLost(boolean leaving) {
        AtomicReference<Runnable> whenTimeIsTold = new AtomicReference<>(() -> {});
        EngineGroup one = new EngineGroup(
                1,
                100,
                () -> {
                    whenTimeIsTold.getAndSet(() -> {}).run();
                    return System.nanoTime();
                },
                clock,
                Runnable::run);
        LimitedBackend.BackendPlaces places = one.places(1).orElseThrow();
        LimitedBackend.BackendPlaces.Place first = places.ask("", Duration.ZERO);
        one.join(new Sessions(0), () -> 1, principal -> {
            if (leaving) {
                first.leaves();
            }
            whenTimeIsTold.set(first::free);
            return leaving;
        });

        assertThat(TestBed.now(places.ask("", Duration.ZERO).granted())).isTrue();
    }

    @Test
    void whoHasHisShareKeepsNoPlaceFromOthers() {
        EngineGroup half = new EngineGroup(2, 50, System::nanoTime, clock, Runnable::run);
        LimitedBackend.BackendPlaces places = half.places(2).orElseThrow();
        LimitedBackend.BackendPlaces.Place first = places.ask("ann", Duration.ZERO);
        LimitedBackend.BackendPlaces.Place idle = places.ask("bob", Duration.ZERO);
        LimitedBackend.BackendPlaces.Place second = places.ask("ann", Duration.ofMinutes(1));
        AtomicBoolean isIdle = new AtomicBoolean(true);
        half.join(new Sessions(0), () -> 1, principal -> {
            boolean ends = principal.isEmpty() && isIdle.getAndSet(false);
            if (ends) {
                idle.leaves();
            }
            return ends;
        });

        CompletableFuture<Boolean> newcomer =
                places.ask("eve", Duration.ZERO).granted().toCompletableFuture();
        assertThat(newcomer).isNotDone();
        idle.free();

        assertThat(newcomer).succeedsWithin(PATIENCE).isEqualTo(true);
        assertThat(second.granted().toCompletableFuture()).isNotDone();
        first.free();
        assertThat(second.granted().toCompletableFuture())
                .succeedsWithin(PATIENCE)
                .isEqualTo(true);
    }

    @Test
    void whoWillHaveHisShareKeepsNoPlaceFromOthersEither() {
        EngineGroup half = new EngineGroup(4, 50, System::nanoTime, clock, Runnable::run);
        LimitedBackend.BackendPlaces places = half.places(4).orElseThrow();
        Stream.of("ann", "cid").forEach(principal -> places.ask(principal, Duration.ZERO));
        List<LimitedBackend.BackendPlaces.Place> leave = Stream.of("bob", "dan")
                .map(principal -> places.ask(principal, Duration.ZERO))
                .toList();
        leave.forEach(LimitedBackend.BackendPlaces.Place::leaves);
        List<CompletableFuture<Boolean>> anns = Stream.of(1, 2)
                .map(i -> places.ask("ann", Duration.ofMinutes(1)).granted().toCompletableFuture())
                .toList();

        CompletableFuture<Boolean> newcomer =
                places.ask("eve", Duration.ZERO).granted().toCompletableFuture();
        leave.forEach(LimitedBackend.BackendPlaces.Place::free);

        assertThat(newcomer).succeedsWithin(PATIENCE).isEqualTo(true);
        assertThat(anns.get(0)).succeedsWithin(PATIENCE).isEqualTo(true);
        assertThat(anns.get(1)).isNotDone();
    }

    /** Asks for one place more than there are. */
    private List<LimitedBackend.BackendPlaces.Place> fill() {
        LimitedBackend.BackendPlaces places = group.places(3).orElseThrow();
        return IntStream.range(0, 4)
                .mapToObj(i -> places.ask("", Duration.ZERO))
                .toList();
    }

    @Test
    void aBackendWithoutALimitOfItsOwnTakesNoPlace() {
        assertThat(group.places(Integer.MAX_VALUE)).isEmpty();
        assertThat(group.allows(2)).isFalse();
        assertThat(group.allows(3)).isTrue();
        assertThat(EngineGroup.NONE.places(2)).isEmpty();
        assertThat(EngineGroup.NONE.allows(3)).isFalse();
    }
}

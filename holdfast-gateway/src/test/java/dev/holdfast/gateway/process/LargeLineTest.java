package dev.holdfast.gateway.process;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.gateway.Wait;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Large lines of many at once. */
@Tag("jdk")
@Timeout(60)
class LargeLineTest {
    private static final int MIB = 1 << 20;
    private static final int LINE = 3 * MIB;
    private static final int SHORT = LineReader.PIECE - 1;
    private static final int MOST = 4 * MIB;
    /** What a line takes, as it is and as a copy, with the piece that comes next. */
    private static final int COST = 2 * (LINE + LineReader.PIECE);

    private static final Duration LONG = Duration.ofMinutes(10);

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    /** One that writes and one that reads, each on a thread of its own. */
    private final class Peer {
        private final Pipe pipe = pipe();
        private final List<LineReader.Next> got = new CopyOnWriteArrayList<>();
        private final Set<String> late = ConcurrentHashMap.newKeySet();
        private final LineReader reader;

        Peer(ByteBudget room) {
            reader = new LineReader(
                    Channels.newInputStream(pipe.source()), MOST, room, new ReadingTime(System::nanoTime), late::add);
        }

        Peer writes(String text) {
            threads.execute(() -> {
                try {
                    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(UTF_8));
                    while (bytes.hasRemaining()) {
                        pipe.sink().write(bytes);
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            return this;
        }

        /** Reads so many pieces, and leaves the last one to nobody. */
        CompletableFuture<Void> reads(int count) {
            return CompletableFuture.runAsync(
                    () -> {
                        for (int i = 0; i < count; i++) {
                            got.add(reader.next());
                        }
                    },
                    threads);
        }

        List<String> lines() {
            return got.stream()
                    .map(next -> new String(((LineReader.Line) next).bytes(), UTF_8))
                    .toList();
        }
    }

    private static Pipe pipe() {
        try {
            return Pipe.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String line(int length) {
        return "x".repeat(length) + "\n";
    }

    @Test
    void allLinesArriveAndNeverMoreIsHeldThanTheRoomAndOneLine() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, COST, LONG);
        AtomicLong most = new AtomicLong();
        AtomicBoolean read = new AtomicBoolean();
        CompletableFuture<Void> watching = CompletableFuture.runAsync(
                () -> {
                    while (!read.get() && !Thread.currentThread().isInterrupted()) {
                        most.accumulateAndGet(room.taken(), Math::max);
                        Thread.onSpinWait();
                    }
                },
                threads);
        List<Peer> peers = IntStream.range(0, 6).mapToObj(i -> new Peer(room)).toList();
        List<CompletableFuture<Void>> reading = peers.stream()
                .map(peer -> peer.writes((line(LINE) + "small\n").repeat(3)).reads(6))
                .toList();

        reading.forEach(Wait::until);
        read.set(true);
        Wait.until(watching);

        String large = line(LINE).strip();
        assertThat(peers)
                .allSatisfy(peer ->
                        assertThat(peer.lines()).containsExactly(large, "small", large, "small", large, "small"));
        assertThat(most.get()).isPositive().isLessThanOrEqualTo(2 * COST);
        assertThat(room.taken()).isZero();
    }

    @Test
    void oneLineMayBeLargerThanTheRoom() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        Peer peer = new Peer(room).writes(line(LINE) + line(LINE));

        Wait.until(peer.reads(2));

        assertThat(peer.lines()).allSatisfy(line -> assertThat(line).hasSize(LINE));
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void shortLinesTakeNoRoom() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        Peer stalled = new Peer(room).writes("x".repeat(LINE));
        stalled.reads(1);
        Wait.until("it holds room", () -> room.taken() == COST);
        Peer other = new Peer(room).writes(line(SHORT));

        Wait.until(other.reads(1));

        assertThat(other.lines()).allSatisfy(line -> assertThat(line).hasSize(SHORT));
    }

    @Test
    void whatPausesInTheMiddleOfALineThatFoundRoomStopsNobody() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, COST, LONG);
        Peer paused = new Peer(room).writes("x".repeat(LINE));
        CompletableFuture<Void> reading = paused.reads(1);
        Wait.until("it holds all room", () -> room.taken() == COST);
        List<Peer> others = IntStream.range(0, 3)
                .mapToObj(i -> new Peer(room).writes(line(LINE) + "small\n"))
                .toList();

        others.stream().map(peer -> peer.reads(2)).toList().forEach(Wait::until);

        assertThat(others).allSatisfy(peer -> assertThat(peer.lines()).hasSize(2));
        paused.writes("\n");
        Wait.until(reading);
        assertThat(paused.lines()).allSatisfy(line -> assertThat(line).hasSize(LINE));
    }

    @Test
    void whatPausesInTheMiddleOfALineBeyondTheRoomIsGivenUpForThoseWhoWait() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, Duration.ofSeconds(5));
        Peer paused = new Peer(room).writes("x".repeat(LINE));
        CompletableFuture<Void> reading = paused.reads(2);
        Wait.until("it holds room", () -> room.taken() == COST);
        List<Peer> others = IntStream.range(0, 3)
                .mapToObj(i -> new Peer(room).writes(line(LINE) + "small\n"))
                .toList();

        others.stream().map(peer -> peer.reads(2)).toList().forEach(Wait::until);

        assertThat(paused.late).isNotEmpty();
        assertThat(others).allSatisfy(peer -> assertThat(peer.late).isEmpty());
        paused.writes("\nsmall\n");
        Wait.until(reading);
        assertThat(paused.got.get(0)).isInstanceOf(LineReader.Dropped.class);
        assertThat(paused.got.get(1)).isInstanceOf(LineReader.Line.class);
    }

    @Test
    void aWholeLineIsNotGivenUpWhileItIsPassedOn() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, Duration.ofMillis(1));
        Peer first = new Peer(room).writes(line(LINE) + "small\n");
        Wait.until(first.reads(1));
        Peer second = new Peer(room).writes(line(LINE));
        CompletableFuture<Void> reading = second.reads(1);
        Wait.until("it waits", () -> room.waiting() == 1);
        Wait.until(new Peer(room).writes(line(SHORT)).reads(1));
        assertThat(reading).isNotDone();

        Wait.until(first.reads(1));

        Wait.until(reading);
        assertThat(first.late).isEmpty();
    }

    @Test
    void aLineThatWasPassedOnHoldsNoRoom() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        Peer first = new Peer(room).writes(line(LINE));
        Wait.until(first.reads(1));
        Peer second = new Peer(room).writes(line(LINE));
        CompletableFuture<Void> reading = second.reads(1);
        Wait.until("it waits", () -> room.waiting() == 1);

        first.reader.passedOn();

        Wait.until(reading);
        assertThat(second.lines()).allSatisfy(line -> assertThat(line).hasSize(LINE));
    }

    @Test
    void whoIsClosedWhileHeWaitsGoesOnWithSmallLines() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        Wait.until(new Peer(room).writes(line(LINE)).reads(1));
        Peer second = new Peer(room).writes(line(LINE) + "small\n");
        CompletableFuture<Void> reading = second.reads(2);
        Wait.until("it waits", () -> room.waiting() == 1);

        second.reader.dropLarge();

        Wait.until(reading);
        assertThat(second.got.get(0)).isInstanceOf(LineReader.Dropped.class);
        assertThat(second.got.get(1)).isInstanceOf(LineReader.Line.class);
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void whoIsClosedInTheMiddleOfALineGivesItsRoomToThoseWhoWait() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        Peer stuck = new Peer(room).writes("x".repeat(LINE));
        stuck.reads(1);
        Wait.until("it holds room", () -> room.taken() == COST);
        Peer second = new Peer(room).writes(line(LINE));
        CompletableFuture<Void> reading = second.reads(1);
        Wait.until("it waits", () -> room.waiting() == 1);

        stuck.reader.dropLarge();

        Wait.until(reading);
        assertThat(second.lines()).allSatisfy(line -> assertThat(line).hasSize(LINE));
    }
}

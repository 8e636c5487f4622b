package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.TestOptions;
import dev.holdfast.spi.BackendConnection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Large lines of several children, for which there is little room. */
@Tag("jdk")
@Timeout(60)
class StdioOutputTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final int MIB = 1 << 20;
    private static final int LARGE = 3 * MIB;
    /** So much that what is left when there is no room fits into the pipe. */
    private static final int BARELY_LARGE = ByteBudget.FREE + 10_000;

    /** Tells the test that the child has said all. */
    private static final String SAYS_SO = "touch \"$1/said\"; ";

    private static final String NEWS = "echo '" + TestJson.of("{'jsonrpc':'2.0','method':'news'}") + "'; ";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private static String largeAnswer(int bytes) {
        return "printf '%s' '" + TestJson.of("{'jsonrpc':'2.0','id':1,'result':{'data':'") + "'; head -c " + bytes
                + " /dev/zero | tr '\\0' x; echo '" + TestJson.of("'}}") + "'; ";
    }

    /** Runs {@code first} in the child that is called first, and {@code second} in the others. */
    private ServerCommand children(String first, String second) {
        return StdioBed.initialized(
                "read line; if mkdir \"$1/first\" 2>/dev/null; then " + first + StdioBed.READS + "; else " + second
                        + StdioBed.READS + "; fi",
                folder);
    }

    /** Stops in the middle of a large line until there is a file {@code go}. */
    private static String stalls(String then) {
        return "head -c " + LARGE + " /dev/zero | tr '\\0' x; until [ -e \"$1/go\" ]; do sleep 0.05; done; " + then;
    }

    private static RecordedCall call(BackendConnection child) {
        return call(child, new RecordedCall());
    }

    private static RecordedCall call(BackendConnection child, RecordedCall call) {
        child.call(TestJson.request(1, "tools/call"), call);
        return call;
    }

    /** A call of a child that waits for room. */
    private static RecordedCall waitingCall(BackendConnection child, ByteBudget room) {
        RecordedCall call = call(child);
        Wait.until("it waits for room", () -> room.waiting() == 1);
        return call;
    }

    /** A child that holds room for a line which it does not finish. */
    private static BackendConnection stalled(StdioBed bed, ByteBudget room) {
        BackendConnection child = bed.opened();
        call(child);
        Wait.until("it holds room", () -> room.taken() == 2 * (LARGE + ByteBudget.FREE));
        return child;
    }

    private void waitUntilSaid() {
        Wait.until("it has said all", () -> Files.exists(folder.resolve("said")));
    }

    private void go() throws IOException {
        Files.createFile(folder.resolve("go"));
    }

    @Test
    void theAnswersOfAllChildrenArriveThoughThereIsNoRoomForAll() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, MIB, LONG);
        ServerCommand command = StdioBed.initialized("read line; " + largeAnswer(LARGE) + StdioBed.READS);
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY, room)) {
            List<BackendConnection> children =
                    IntStream.range(0, 6).mapToObj(child -> bed.opened()).toList();

            List<RecordedCall> calls =
                    children.stream().map(StdioOutputTest::call).toList();

            assertThat(calls).allSatisfy(call -> assertThat(call.next()).hasSizeGreaterThan(LARGE));
            Wait.until("all room is given back", () -> room.taken() == 0);
            assertThat(bed.listening.losses).isEmpty();
        }
    }

    @Test
    void oneThatStallsInTheMiddleOfALargeLineWhileAnotherWaitsIsToldSo() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, Duration.ofSeconds(1));
        try (StdioBed bed = new StdioBed(children(stalls(""), largeAnswer(LARGE)), StdioBed.HASTY, room)) {
            stalled(bed, room);

            RecordedCall answered = call(bed.opened());

            assertThat(Wait.next(bed.listening.losses))
                    .isEqualTo("the server process did not finish a large message while others waited for room");
            assertThat(answered.next()).hasSizeGreaterThan(LARGE);
            Wait.until("only the other child is left", () -> bed.backend.size() == 1);
        }
    }

    @Test
    void oneThatEndsInTheMiddleOfALargeLineGivesItsRoomBack() throws IOException {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        try (StdioBed bed = new StdioBed(children(stalls("exit 7; "), largeAnswer(LARGE)), StdioBed.HASTY, room)) {
            stalled(bed, room);
            RecordedCall answered = waitingCall(bed.opened(), room);

            go();

            assertThat(answered.next()).hasSizeGreaterThan(LARGE);
            assertThat(Wait.next(bed.listening.losses)).isEqualTo("the server process exited with code 7");
        }
    }

    @Test
    void oneThatIsClosedInTheMiddleOfALargeLineGivesItsRoomBack() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        try (StdioBed bed = new StdioBed(children(stalls(""), largeAnswer(LARGE)), StdioBed.HASTY, room)) {
            BackendConnection first = stalled(bed, room);
            RecordedCall answered = waitingCall(bed.opened(), room);

            Wait.until(first.close());

            assertThat(answered.next()).hasSizeGreaterThan(LARGE);
        }
    }

    @Test
    void oneThatWaitsForRoomCanBeClosed() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        try (StdioBed bed = new StdioBed(children(stalls(""), largeAnswer(LARGE)), StdioBed.HASTY, room)) {
            stalled(bed, room);
            BackendConnection second = bed.opened();
            waitingCall(second, room);

            Wait.until(second.close());

            assertThat(bed.backend.size()).isOne();
            assertThat(room.taken()).isEqualTo(2 * (LARGE + ByteBudget.FREE));
        }
    }

    /** Waits for a time in which a child could be taken for dead. */
    private static void waitForLong() {
        long start = System.nanoTime();
        Wait.until("some time has passed", () -> System.nanoTime() - start > TimeUnit.SECONDS.toNanos(3));
    }

    @Test
    void whatAChildSaysBeforeItsExitArrivesThoughItWaitsForRoom() throws IOException {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        ServerCommand command = children(stalls("echo; "), largeAnswer(BARELY_LARGE) + SAYS_SO + "exit 7; ");
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY, room)) {
            stalled(bed, room);
            RecordedCall answered = waitingCall(bed.opened(), room);
            waitUntilSaid();
            waitForLong();

            go();

            assertThat(answered.next()).hasSizeGreaterThan(BARELY_LARGE);
            assertThat(Wait.next(bed.listening.losses)).isEqualTo("the server process exited with code 7");
        }
    }

    @Test
    void aPingIsNotExpectedToBeAnsweredByAChildThatWaitsForRoom() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        StdioOptions impatient = TestOptions.pingTimeout(StdioBed.HASTY, Duration.ofSeconds(1));
        try (StdioBed bed = new StdioBed(children(stalls(""), largeAnswer(LARGE)), impatient, room)) {
            stalled(bed, room);
            RecordedCall call = waitingCall(bed.opened(), room);

            call.cancel(Optional.empty());

            waitForLong();
            assertThat(bed.listening.losses).isEmpty();
        }
    }

    @Test
    void aChildWhoseAnswerWaitsForTheStoreKeepsNoRoomFromOthers() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        ServerCommand command = children(largeAnswer(LARGE) + largeAnswer(LARGE), largeAnswer(LARGE));
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY, room)) {
            CompletableFuture<Void> commit = new CompletableFuture<>();
            RecordedCall uncommitted = call(bed.opened(), new RecordedCall(commit));
            assertThat(uncommitted.next()).hasSizeGreaterThan(LARGE);

            assertThat(call(bed.opened()).next()).hasSizeGreaterThan(LARGE);

            Wait.until("all room is given back", () -> room.taken() == 0);
            commit.complete(null);
        }
    }

    @Test
    void whatAChildSaysBeforeItsExitArrivesThoughItsAnswerWaitsForTheStore() {
        ServerCommand command = children(largeAnswer(LARGE) + NEWS + SAYS_SO + "exit 7; ", "");
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY)) {
            CompletableFuture<Void> commit = new CompletableFuture<>();
            RecordedCall uncommitted = call(bed.opened(), new RecordedCall(commit));
            assertThat(uncommitted.next()).hasSizeGreaterThan(LARGE);
            waitUntilSaid();
            waitForLong();
            assertThat(bed.listening.losses).isEmpty();

            commit.complete(null);

            assertThat(bed.listening.next()).contains("news");
            assertThat(Wait.next(bed.listening.losses)).isEqualTo("the server process exited with code 7");
        }
    }
}

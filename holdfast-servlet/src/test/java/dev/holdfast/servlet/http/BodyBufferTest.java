package dev.holdfast.servlet.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BodyBufferTest {
    private static final int LIMIT = 1 << 20;
    private static final int PIECE = 8 << 10;
    private static final int NOT_ANNOUNCED = -1;

    /** A quarter of it is for the first pieces: the rest holds two bodies of the largest size. */
    private static final int ROOM = 2 * LIMIT * 4 / 3 + 4;

    private final Quota room = new Quota(ROOM, 50, Refusal.BODY_ROOM);

    private RequestMemory memory() {
        return new RequestMemory(room, (bytes, tokens) -> bytes);
    }

    /** Lets bytes arrive in pieces, up to the first fault. */
    private static Optional<Rejection> arrive(BodyBuffer body, int count) throws IOException {
        ByteArrayInputStream in = new ByteArrayInputStream(bytes(count));
        Optional<Rejection> fault = body.grow();
        while (fault.isEmpty() && body.readFrom(in) >= 0) {
            fault = body.grow();
        }
        return fault;
    }

    private static byte[] bytes(int count) {
        byte[] bytes = new byte[count];
        Arrays.fill(bytes, (byte) 'x');
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8191, 8192, 8193, 100_000, LIMIT})
    void whatArrivesIsHandedOverWhole(int count) throws IOException {
        for (int announced : new int[] {count, NOT_ANNOUNCED}) {
            RequestMemory memory = memory();
            BodyBuffer body = new BodyBuffer(memory, LIMIT, announced);

            assertThat(arrive(body, count)).isEmpty();

            assertThat(body.size()).isEqualTo(count);
            assertThat(body.take()).isEqualTo(bytes(count));
            assertThat(room.taken()).isEqualTo(count);
            memory.answered();
            assertThat(room.taken()).isZero();
        }
    }

    @Test
    void memoryGrowsWithWhatHasArrivedNotWithWhatIsAnnounced() throws IOException {
        BodyBuffer body = new BodyBuffer(memory(), LIMIT, LIMIT);

        arrive(body, 10);
        assertThat(room.taken()).isEqualTo(8 << 10);
        arrive(body, 100_000);
        assertThat(room.taken()).isBetween(100_010L, 200_020L);
    }

    @Test
    void nothingIsTakenBeforeSomethingHasArrived() {
        BodyBuffer body = new BodyBuffer(memory(), LIMIT, LIMIT);

        assertThat(body.size()).isZero();
        assertThat(room.taken()).isZero();
    }

    @Test
    void whatExceedsTheLimitIsRefused() throws IOException {
        BodyBuffer body = new BodyBuffer(memory(), LIMIT, NOT_ANNOUNCED);

        assertThat(arrive(body, LIMIT + 1).map(Rejection::refusal)).contains(Refusal.BODY_SIZE);
        assertThat(body.excess()).isPresent();
        body.drop();

        assertThat(room.taken()).isZero();
    }

    @Test
    void whatFindsNoRoomIsRefusedUntilThereIsSomeAgain() throws IOException {
        BodyBuffer first = new BodyBuffer(memory(), LIMIT, LIMIT);
        BodyBuffer second = new BodyBuffer(memory(), LIMIT, LIMIT);
        BodyBuffer third = new BodyBuffer(memory(), LIMIT, LIMIT);
        arrive(first, LIMIT);
        arrive(second, LIMIT);

        assertThat(arrive(third, 100_000).map(Rejection::refusal)).contains(Refusal.BODY_ROOM);
        third.drop();
        first.drop();
        first.drop();
        assertThat(arrive(third, 100_000)).isEmpty();

        second.drop();
        third.drop();
        assertThat(room.taken()).isZero();
    }

    @Test
    void smallBodiesFindRoomWhereLargeOnesFindNoneAndAllIsBounded() throws IOException {
        List<BodyBuffer> all = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            all.add(new BodyBuffer(memory(), LIMIT, LIMIT));
            assertThat(arrive(all.get(i), LIMIT)).isEmpty();
        }
        Optional<Rejection> fault = Optional.empty();
        int small = 0;
        while (fault.isEmpty() && small <= ROOM / PIECE) {
            BodyBuffer body = new BodyBuffer(memory(), LIMIT, PIECE);
            all.add(body);
            fault = arrive(body, PIECE);
            small++;
        }

        assertThat(fault.map(Rejection::refusal)).contains(Refusal.BODY_ROOM);
        assertThat(small).isBetween(ROOM / 4 / PIECE, ROOM / 4 / PIECE + 2);
        assertThat(room.taken()).isLessThanOrEqualTo(ROOM);
        all.forEach(BodyBuffer::drop);
        assertThat(room.taken()).isZero();
    }

    @Test
    void whatWouldNeverFindRoomIsToldSoAndNotToComeBack() throws IOException {
        RequestMemory memory = new RequestMemory(room, (bytes, tokens) -> 4 * bytes + 100 * tokens);
        BodyBuffer body = new BodyBuffer(memory, LIMIT, LIMIT);

        assertThat(body.check().map(Rejection::status)).contains(413);
        assertThat(arrive(body, LIMIT).map(Rejection::status)).contains(413);
        body.drop();
        assertThat(memory.handle(1_000, ROOM / 100).map(Rejection::status)).contains(413);
        assertThat(room.taken()).isZero();
    }

    @Test
    void theMemoryOfABodyIsTakenUntilNobodyUsesIt() throws IOException {
        RequestMemory memory = new RequestMemory(room, (bytes, tokens) -> bytes + 10 * tokens);
        BodyBuffer body = new BodyBuffer(memory, LIMIT, LIMIT);
        arrive(body, LIMIT);
        body.take();
        assertThat(memory.handle(LIMIT, 100)).isEmpty();
        Runnable call = memory.use();

        memory.answered();
        memory.answered();
        assertThat(room.taken()).isEqualTo(LIMIT + 1_000);
        call.run();
        call.run();

        assertThat(room.taken()).isZero();
    }

    @Test
    void aNamedPrincipalHasItsShareAndLeavesTheRestToOthers() throws IOException {
        RequestMemory alice = memory();
        alice.principal("alice");
        RequestMemory more = memory();
        more.principal("alice");
        RequestMemory bob = memory();
        bob.principal("bob");
        assertThat(arrive(new BodyBuffer(alice, LIMIT, LIMIT), LIMIT * 3 / 4)).isEmpty();

        BodyBuffer beyond = new BodyBuffer(more, LIMIT, LIMIT);
        assertThat(arrive(beyond, LIMIT * 3 / 4).map(Rejection::refusal)).contains(Refusal.PRINCIPAL_SHARE);
        beyond.drop();
        assertThat(arrive(new BodyBuffer(bob, LIMIT, LIMIT), LIMIT * 3 / 4)).isEmpty();
    }
}

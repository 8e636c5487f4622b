package dev.holdfast.servlet.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.io.EdgeClock;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.LongBinaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestBodyTest {
    private static final int LIMIT = 1 << 20;
    private static final int PIECE = 8 << 10;
    private static final int NOT_ANNOUNCED = -1;

    /** A quarter of it is for the first pieces: the rest holds two bodies of the largest size. */
    private static final int ROOM = 2 * LIMIT * 4 / 3 + 4;

    private final Quota room = new Quota(ROOM, 50, Refusal.BODY_ROOM);

    /** A body that announces its length, of a request that takes as many bytes of memory. */
    private RequestBody body(int announced) {
        return body(announced, (bytes, tokens) -> bytes);
    }

    private RequestBody body(int announced, LongBinaryOperator cost) {
        EdgeClock clock = new EdgeClock(() -> 0, new ScheduledThreadPoolExecutor(0));
        RequestBody body = new RequestBody(new RequestBodies(LIMIT, Duration.ofSeconds(30), room, cost, clock));
        body.expect(announced);
        return body;
    }

    /** Lets bytes arrive in pieces, up to the first fault. */
    private static Optional<Rejection> arrive(RequestBody body, int count) throws IOException {
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
            RequestBody body = body(announced);

            assertThat(arrive(body, count)).isEmpty();

            assertThat(body.take()).isEqualTo(bytes(count));
            assertThat(room.taken()).isEqualTo(count);
            body.answered();
            assertThat(room.taken()).isZero();
        }
    }

    @Test
    void memoryGrowsWithWhatHasArrivedNotWithWhatIsAnnounced() throws IOException {
        RequestBody body = body(LIMIT);

        arrive(body, 10);
        assertThat(room.taken()).isEqualTo(8 << 10);
        arrive(body, 100_000);
        assertThat(room.taken()).isBetween(100_010L, 200_020L);
    }

    @Test
    void nothingIsTakenBeforeSomethingHasArrived() {
        RequestBody body = body(LIMIT);

        assertThat(body.check()).isEmpty();
        assertThat(room.taken()).isZero();
    }

    @Test
    void whatExceedsTheLimitIsRefused() throws IOException {
        RequestBody body = body(NOT_ANNOUNCED);

        assertThat(arrive(body, LIMIT + 1).map(Rejection::refusal)).contains(Refusal.BODY_SIZE);
        assertThat(body.excess()).isPresent();
        body.drop();

        assertThat(room.taken()).isZero();
    }

    @Test
    void whatFindsNoRoomIsRefusedUntilThereIsSomeAgain() throws IOException {
        RequestBody first = body(LIMIT);
        RequestBody second = body(LIMIT);
        RequestBody third = body(LIMIT);
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
        List<RequestBody> all = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            all.add(body(LIMIT));
            assertThat(arrive(all.get(i), LIMIT)).isEmpty();
        }
        Optional<Rejection> fault = Optional.empty();
        int small = 0;
        while (fault.isEmpty() && small <= ROOM / PIECE) {
            RequestBody body = body(PIECE);
            all.add(body);
            fault = arrive(body, PIECE);
            small++;
        }

        assertThat(fault.map(Rejection::refusal)).contains(Refusal.BODY_ROOM);
        assertThat(small).isBetween(ROOM / 4 / PIECE, ROOM / 4 / PIECE + 2);
        assertThat(room.taken()).isLessThanOrEqualTo(ROOM);
        all.forEach(RequestBody::drop);
        assertThat(room.taken()).isZero();
    }

    @Test
    void whatWouldNeverFindRoomIsToldSoAndNotToComeBack() throws IOException {
        RequestBody body = body(LIMIT, (bytes, tokens) -> 4 * bytes + 100 * tokens);

        assertThat(body.check().map(Rejection::status)).contains(413);
        assertThat(arrive(body, LIMIT).map(Rejection::status)).contains(413);
        body.drop();
        assertThat(body.handle(1_000, ROOM / 100).map(Rejection::status)).contains(413);
        assertThat(room.taken()).isZero();
    }

    @Test
    void theMemoryOfABodyIsTakenUntilNobodyUsesIt() throws IOException {
        RequestBody body = body(LIMIT, (bytes, tokens) -> bytes + 10 * tokens);
        arrive(body, LIMIT);
        body.take();
        assertThat(body.handle(LIMIT, 100)).isEmpty();
        Runnable call = body.use();

        body.answered();
        body.answered();
        assertThat(room.taken()).isEqualTo(LIMIT + 1_000);
        call.run();
        call.run();

        assertThat(room.taken()).isZero();
    }

    @Test
    void aNamedPrincipalHasItsShareAndLeavesTheRestToOthers() throws IOException {
        RequestBody alice = body(LIMIT);
        alice.principal("alice");
        RequestBody more = body(LIMIT);
        more.principal("alice");
        RequestBody bob = body(LIMIT);
        bob.principal("bob");
        assertThat(arrive(alice, LIMIT * 3 / 4)).isEmpty();

        assertThat(arrive(more, LIMIT * 3 / 4).map(Rejection::refusal)).contains(Refusal.PRINCIPAL_SHARE);
        more.drop();
        assertThat(arrive(bob, LIMIT * 3 / 4)).isEmpty();
    }
}

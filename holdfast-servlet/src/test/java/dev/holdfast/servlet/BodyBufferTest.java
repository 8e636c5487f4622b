package dev.holdfast.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Refusal;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BodyBufferTest {
    private static final int LIMIT = 1 << 20;
    private static final int NOT_ANNOUNCED = -1;

    private final BodyRoom room = new BodyRoom(2 * LIMIT);

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
            BodyBuffer body = new BodyBuffer(room, LIMIT, announced);

            assertThat(arrive(body, count)).isEmpty();

            assertThat(body.size()).isEqualTo(count);
            assertThat(body.take()).isEqualTo(bytes(count));
            assertThat(room.taken()).isZero();
        }
    }

    @Test
    void memoryGrowsWithWhatHasArrivedNotWithWhatIsAnnounced() throws IOException {
        BodyBuffer body = new BodyBuffer(room, LIMIT, LIMIT);

        arrive(body, 10);
        assertThat(room.taken()).isEqualTo(8 << 10);
        arrive(body, 100_000);
        assertThat(room.taken()).isBetween(100_010L, 200_020L);
    }

    @Test
    void nothingIsTakenBeforeSomethingHasArrived() {
        BodyBuffer body = new BodyBuffer(room, LIMIT, LIMIT);

        assertThat(body.size()).isZero();
        assertThat(room.taken()).isZero();
    }

    @Test
    void whatExceedsTheLimitIsRefused() throws IOException {
        BodyBuffer body = new BodyBuffer(room, LIMIT, NOT_ANNOUNCED);

        assertThat(arrive(body, LIMIT + 1).map(Rejection::refusal)).contains(Refusal.BODY_SIZE);
        assertThat(body.excess()).isPresent();
        body.drop();

        assertThat(room.taken()).isZero();
    }

    @Test
    void whatFindsNoRoomIsRefusedUntilThereIsSomeAgain() throws IOException {
        BodyBuffer first = new BodyBuffer(room, LIMIT, LIMIT);
        BodyBuffer second = new BodyBuffer(room, LIMIT, LIMIT);
        BodyBuffer third = new BodyBuffer(room, LIMIT, LIMIT);
        arrive(first, LIMIT);
        arrive(second, LIMIT);

        assertThat(arrive(third, 1).map(Rejection::refusal)).contains(Refusal.BODY_ROOM);
        first.drop();
        first.drop();
        assertThat(arrive(third, 1)).isEmpty();

        second.take();
        third.drop();
        assertThat(room.taken()).isZero();
    }
}

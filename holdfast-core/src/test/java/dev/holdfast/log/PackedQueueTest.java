package dev.holdfast.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PackedQueueTest {
    private record Item(long number, String text) {}

    private final PackedQueue queue = new PackedQueue();

    @Test
    void readsEveryNumberAsItWasPut() {
        long[] numbers = {0, 1, 127, 128, 255, 1 << 14, Integer.toUnsignedLong(-1), Long.MAX_VALUE};
        for (long number : numbers) {
            queue.put(number);
        }
        PackedQueue.Reader reader = queue.reader();
        for (long number : numbers) {
            assertThat(reader.number()).isEqualTo(number);
        }
        assertThat(reader.atEnd()).isTrue();
    }

    @Test
    void readsEveryTextAsItWasPut() {
        String[] texts = {"", "7", "\"a\"", "\"\u00e9\u4e2d\"", "\"\ud83d\ude00\"", "\"\ud83d\"", "x".repeat(1000)};
        for (String text : texts) {
            queue.put(text);
        }
        PackedQueue.Reader reader = queue.reader();
        for (String text : texts) {
            assertThat(reader.text()).isEqualTo(text);
        }
        assertThat(reader.atEnd()).isTrue();
    }

    @Test
    void whatIsReadAndNotRemovedStays() {
        queue.put(1);
        queue.put(2);
        queue.reader().number();
        assertThat(queue.reader().number()).isEqualTo(1);
    }

    @Test
    void keepsTheOrderWhileItGrowsAndWraps() {
        Random random = new Random(5);
        Deque<Item> expected = new ArrayDeque<>();
        for (int i = 0; i < 20_000; i++) {
            // longer and shorter by turns, so that it grows with its start at any place
            if (expected.isEmpty() || random.nextInt(100) < (i % 2000 < 1000 ? 60 : 40)) {
                Item item = new Item(random.nextLong() >>> (1 + random.nextInt(63)), "t".repeat(random.nextInt(20)));
                queue.put(item.number);
                queue.put(item.text);
                expected.addLast(item);
            } else {
                PackedQueue.Reader reader = queue.reader();
                assertThat(new Item(reader.number(), reader.text())).isEqualTo(expected.removeFirst());
                reader.remove();
            }
            assertThat(queue.size() == 0).isEqualTo(expected.isEmpty());
        }
    }
}

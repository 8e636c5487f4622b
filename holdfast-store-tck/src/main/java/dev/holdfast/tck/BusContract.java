package dev.holdfast.tck;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.ClusterBus;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What nodes know of each other: leases and inboxes. */
@SuppressWarnings("try") // what is open while a test runs need not be named there
public abstract class BusContract extends SharedStoreContract {
    /** Long enough for a bus over a network that a test pauses nowhere. */
    private static final Duration LEASE = Duration.ofSeconds(2);

    private static final Duration LONG = Duration.ofMinutes(10);

    protected BusContract(Supplier<? extends SharedBed> beds) {
        super(beds);
    }

    private ClusterBus bus() {
        return store().bus();
    }

    private ClusterBus otherBus() {
        return elsewhere().bus();
    }

    private boolean send(String text) {
        return await(otherBus().send(NODE, bytes(text)));
    }

    /** What an inbox has handed over. */
    private static final class Received {
        private final List<String> texts = new CopyOnWriteArrayList<>();

        private void take(byte[] message) {
            texts.add(new String(message, UTF_8));
        }
    }

    @Test
    @DisplayName("Begins a lease: the incarnation lives")
    void whoBeginsLives() {
        assertThat(await(bus().living())).isEmpty();
        await(bus().begin(NODE, LONG));
        await(otherBus().begin(OTHER_NODE, LONG));
        assertThat(await(bus().living())).containsExactlyInAnyOrder(NODE, OTHER_NODE);
        assertThat(await(otherBus().living())).containsExactlyInAnyOrder(NODE, OTHER_NODE);
        assertFails(IllegalStateException.class, otherBus().begin(NODE, LONG));
    }

    @Test
    @DisplayName("Renews a lease; false where it has lapsed, and the incarnation never lives again")
    void aLeaseThatIsNotRenewedLapses() {
        await(bus().begin(NODE, LEASE));
        await(bus().begin(OTHER_NODE, LEASE));
        bed().advance(LEASE.dividedBy(2));
        assertThat(await(bus().renew(OTHER_NODE, LEASE))).isTrue();
        bed().advance(LEASE.dividedBy(2).plusMillis(50));
        assertThat(await(otherBus().living())).containsExactly(OTHER_NODE);
        assertThat(await(bus().renew(NODE, LEASE))).isFalse();
        assertThat(await(otherBus().living())).containsExactly(OTHER_NODE);
        assertThat(send("to nobody")).isFalse();
    }

    @Test
    @DisplayName("Renews a lease: it lasts for this time from now on")
    void aLeaseCanBeShortened() {
        await(bus().begin(NODE, LONG));
        assertThat(await(bus().renew(NODE, LEASE))).isTrue();
        bed().advance(LEASE.plusMillis(50));
        assertThat(await(bus().living())).isEmpty();
    }

    @Test
    @DisplayName("Ends a lease, and forgets the inbox; no error where there is none")
    void whoEndsLivesNoMore() {
        await(bus().begin(NODE, LONG));
        assertThat(send("forgotten")).isTrue();
        await(bus().end(NODE));
        assertThat(await(otherBus().living())).isEmpty();
        assertThat(await(bus().renew(NODE, LONG))).isFalse();
        assertThat(send("to nobody")).isFalse();
        await(bus().end(NODE));
    }

    @Test
    @DisplayName(
            "Hands over the messages of an inbox, each once at most, those of one sender in order, earlier ones too")
    void anInboxHandsOverInOrder() {
        await(bus().begin(NODE, LONG));
        List<String> sent = IntStream.range(0, 200).mapToObj(i -> "m" + i).toList();
        sent.subList(0, 50).forEach(text -> assertThat(send(text)).isTrue());
        Received received = new Received();
        try (ClusterBus.Inbox inbox = bus().receive(NODE, received::take)) {
            sent.subList(50, 200).forEach(text -> assertThat(send(text)).isTrue());
            until("all have come", () -> received.texts.size() >= sent.size());
        }
        assertThat(received.texts).containsExactlyElementsOf(sent);
    }

    @Test
    @DisplayName("one at a time")
    void aHandlerIsNotCalledByTwoAtOnce() {
        await(bus().begin(NODE, LONG));
        AtomicBoolean inside = new AtomicBoolean();
        AtomicInteger handled = new AtomicInteger();
        AtomicInteger together = new AtomicInteger();
        try (ClusterBus.Inbox inbox = bus().receive(NODE, message -> {
            together.addAndGet(inside.compareAndSet(false, true) ? 0 : 1);
            Thread.onSpinWait();
            inside.set(false);
            handled.incrementAndGet();
        })) {
            List<CompletableFuture<Boolean>> sends = IntStream.range(0, 200)
                    .mapToObj(i -> (i % 2 == 0 ? bus() : otherBus())
                            .send(NODE, bytes("m" + i))
                            .toCompletableFuture())
                    .toList();
            sends.forEach(sent -> assertThat(await(sent)).isTrue());
            until("all were handled", () -> handled.get() == sends.size());
        }
        assertThat(together).hasValue(0);
    }

    @Test
    void eachInboxGetsItsOwnMessages() {
        await(bus().begin(NODE, LONG));
        await(otherBus().begin(OTHER_NODE, LONG));
        Received here = new Received();
        Received there = new Received();
        try (ClusterBus.Inbox one = bus().receive(NODE, here::take);
                ClusterBus.Inbox two = otherBus().receive(OTHER_NODE, there::take)) {
            assertThat(one).isNotSameAs(two);
            await(bus().send(OTHER_NODE, bytes("there")));
            await(bus().send(NODE, bytes("here")));
            until("both have come", () -> here.texts.size() + there.texts.size() == 2);
        }
        assertThat(here.texts).containsExactly("here");
        assertThat(there.texts).containsExactly("there");
    }

    @Test
    void aHandlerThatThrowsGetsTheNextMessageAllTheSame() {
        await(bus().begin(NODE, LONG));
        Received received = new Received();
        try (ClusterBus.Inbox inbox = bus().receive(NODE, message -> {
            received.take(message);
            if (received.texts.size() == 1) {
                throw new IllegalArgumentException("of the test");
            }
        })) {
            send("first");
            send("second");
            until("both have come", () -> received.texts.size() == 2);
        }
    }

    @Test
    @DisplayName("false where its inbox is full")
    void anInboxThatNobodyEmptiesIsFullAtSomeTime() {
        await(bus().begin(NODE, LONG));
        for (int i = 0; i < ClusterBus.INBOX_MESSAGES; i++) {
            bus().send(NODE, bytes("x"));
        }
        assertThat(await(bus().living())).containsExactly(NODE);
        int more = 0;
        while (send("more") && more < 2 * ClusterBus.INBOX_MESSAGES) {
            more++;
        }
        assertThat(more).as("messages beyond the least").isLessThan(2 * ClusterBus.INBOX_MESSAGES);
    }

    @Test
    @DisplayName("false where its inbox is full, by their bytes; what was handed over takes no room in it")
    void anInboxIsFullOfFewLargeMessagesToo() {
        await(bus().begin(NODE, LONG));
        await(bus().begin(OTHER_NODE, LONG));
        byte[] large = new byte[4 << 20];
        int least = ClusterBus.INBOX_BYTES / large.length;
        for (int i = 0; i < least; i++) {
            assertThat(await(otherBus().send(NODE, large))).isTrue();
        }
        int more = 0;
        while (await(otherBus().send(NODE, large)) && more < least) {
            more++;
        }
        assertThat(more).as("messages beyond the least").isLessThan(least);
        assertThat(send("more")).isFalse();
        assertThat(await(otherBus().send(OTHER_NODE, large)))
                .as("another inbox")
                .isTrue();
        AtomicInteger handled = new AtomicInteger();
        try (ClusterBus.Inbox inbox = bus().receive(NODE, message -> handled.incrementAndGet())) {
            for (int i = 0; i < 2 * least; i++) {
                until("there is room", () -> await(otherBus().send(NODE, large)));
            }
            int sent = least + more + 2 * least;
            until("all have come", () -> handled.get() == sent);
        }
    }
}

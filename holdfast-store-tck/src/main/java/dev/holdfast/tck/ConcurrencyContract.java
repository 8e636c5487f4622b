package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StaleEpochException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Every method may be called from any thread. */
public abstract class ConcurrencyContract extends StoreContract<StoreBed> {
    private static final int THREADS = 8;
    private static final int ROUNDS = 50;

    protected ConcurrencyContract(Supplier<? extends StoreBed> beds) {
        super(beds);
    }

    private static <T> void together(Callable<T> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            for (Future<?> one : threads.invokeAll(Collections.nCopies(THREADS, work))) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    @DisplayName("Every method may be called from any thread")
    void manySessionsAtOnce() throws Exception {
        AtomicInteger next = new AtomicInteger();
        together(() -> {
            SessionKey key = SessionKey.of("session " + next.incrementAndGet(), "");
            create(key);
            for (int offset = 1; offset <= ROUNDS; offset++) {
                await(store().append(key, FIRST, only(event(LISTENING, offset))));
            }
            List<Event> all = await(store().read(key, LISTENING, 0, Integer.MAX_VALUE));
            assertThat(all).hasSize(ROUNDS);
            await(store().delete(key));
            assertThat(lookFor(key)).isEmpty();
            return key;
        });
    }

    @Test
    void ofManyWhoCreateOneSessionOneSucceeds() throws Exception {
        AtomicInteger created = new AtomicInteger();
        AtomicInteger nonce = new AtomicInteger();
        together(() -> await(store().create(KEY, new Epoch(1, nonce.incrementAndGet()), record())
                .handle((done, failure) -> failure == null ? created.incrementAndGet() : 0)));
        assertThat(created).hasValue(1);
    }

    @Test
    void noTwoClaimsGetTheSameEpoch() throws Exception {
        create();
        List<Epoch> claimed = new ArrayList<>();
        together(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                Epoch epoch = await(store().claim(KEY, i)).orElseThrow().epoch();
                synchronized (claimed) {
                    claimed.add(epoch);
                }
            }
            return claimed;
        });
        assertThat(claimed).extracting(Epoch::counter).doesNotHaveDuplicates().hasSize(THREADS * ROUNDS);
        assertThat(claim().epoch().counter()).isEqualTo(THREADS * ROUNDS + 2);
    }

    /** Each thread claims, then appends the next event; a thread that is fenced in between appends nothing. */
    @Test
    void ofManyOwnersOnlyTheLastAppends() throws Exception {
        create();
        AtomicInteger appended = new AtomicInteger();
        together(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                var claim = await(store().claim(KEY, i)).orElseThrow();
                Event next = event(LISTENING, claim.epoch(), claim.last(LISTENING) + 1);
                await(store().append(KEY, claim.epoch(), only(next)).handle((done, failure) -> {
                    if (failure == null) {
                        return appended.incrementAndGet();
                    }
                    assertThat(failure).isInstanceOf(StaleEpochException.class);
                    return 0;
                }));
            }
            return appended;
        });
        List<Event> all = read(LISTENING);
        assertThat(all).hasSize(appended.get());
        assertThat(all).extracting(Event::offset).doesNotHaveDuplicates().isSorted();
        assertThat(all)
                .extracting(event -> event.epoch().counter())
                .doesNotHaveDuplicates()
                .isSorted();
    }
}

package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import java.time.Duration;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A session whose time has passed is not there. */
public abstract class ExpiryContract extends StoreContract {
    protected ExpiryContract(Supplier<? extends StoreBed> beds) {
        super(beds);
    }

    @Test
    void aSessionIsThereUntilItsTime() {
        create();
        append(event(LISTENING, 1));
        bed().advance(LIFE.minusMillis(1));
        assertThat(read(LISTENING)).hasSize(1);
        assertThat(lookFor(KEY)).isPresent();
    }

    @Test
    @DisplayName("A session whose expiresAt has passed is not there, whoever asks")
    void aSessionWhoseTimeHasPassedIsNotThere() {
        create();
        append(event(LISTENING, 1));
        bed().advance(LIFE);
        assertThat(failureOf(store().append(KEY, FIRST, only(event(LISTENING, 2)))))
                .isInstanceOf(IllegalStateException.class);
        assertThat(read(LISTENING)).isEmpty();
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(await(store().look(KEY))).isEmpty();
        assertThat(await(store().delete(KEY, new Epoch(7, 7)))).isTrue();
        await(store().delete(KEY));
    }

    @Test
    void aSessionCanBeRenewed() {
        create();
        change(new RecordChange.Expires(bed().millis() + LIFE.toMillis() * 3));
        bed().advance(LIFE.multipliedBy(2));
        append(event(LISTENING, 1));
        assertThat(claim().record().expiresAt()).isEqualTo(bed().millis() + LIFE.toMillis());
        bed().advance(LIFE);
        assertThat(lookFor(KEY)).isEmpty();
    }

    @Test
    void aSessionCanBeMadeToExpireEarlier() {
        create();
        change(new RecordChange.Expires(bed().millis() + 1000));
        bed().advance(Duration.ofSeconds(1));
        assertThat(lookFor(KEY)).isEmpty();
    }

    @Test
    void theKeyOfAnExpiredSessionIsFree() {
        create();
        append(event(LISTENING, 1), event(CALL, 1));
        bed().advance(LIFE);
        Epoch other = new Epoch(1, 78);
        await(store().create(KEY, other, record()));
        assertThat(read(LISTENING)).isEmpty();
        await(store().append(KEY, other, only(event(LISTENING, 1))));
        assertThat(claim().before()).containsExactly(other);
    }

    @Test
    void theTimeOfOneSessionIsNotThatOfAnother() {
        create();
        bed().advance(LIFE.dividedBy(2));
        create(OTHER);
        bed().advance(LIFE.dividedBy(2));
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(lookFor(OTHER)).isPresent();
    }
}

package dev.holdfast.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.SessionStore.Promise;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PromiseTest {
    @ParameterizedTest
    @CsvSource({"PROCESS_DEATH, false", "POWER_LOSS, false", "NOTHING, true"})
    void whatKeepsNothingPromisesNothingElse(Durability durability, boolean shared) {
        assertThatThrownBy(() -> new Promise(durability, shared, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("keeps nothing");
        assertThat(new Promise(durability, shared).keeps()).isTrue();
    }

    @Test
    void mayKeepNothing() {
        assertThat(new Promise(Durability.NOTHING, false, false).keeps()).isFalse();
    }
}

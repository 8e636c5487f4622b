package dev.holdfast.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class KeepAliveRangeTest {
    private final HoldfastTransportProviderBuilder builder = HoldfastTransportProvider.builder();

    @Test
    void whatIsTooShortOrTooLongToBeCountedIsNamed() {
        Duration centuries = Duration.ofDays(365_000);

        assertThatThrownBy(() -> builder.keepAliveInterval(Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT0S");
        assertThatThrownBy(() -> builder.keepAliveInterval(centuries))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(centuries.toString());
    }

    @Test
    void theLongestIsTaken() {
        HoldfastTransportProvider provider =
                builder.keepAliveInterval(Duration.ofDays(36_500)).build();
        provider.close();
        assertThat(provider.protocolVersions()).isNotEmpty();
    }
}

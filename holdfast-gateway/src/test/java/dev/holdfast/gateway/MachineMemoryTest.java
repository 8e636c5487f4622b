package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("jdk")
class MachineMemoryTest {
    private static final long GIB = 1L << 30;

    @Test
    void aMachineHasRoomForOneChildInEach128MegabytesAndFor16InAnyCase() {
        assertThat(ServeOptions.children(0)).isEqualTo(16);
        assertThat(ServeOptions.children(GIB)).isEqualTo(16);
        assertThat(ServeOptions.children(8 * GIB)).isEqualTo(64);
        assertThat(ServeOptions.children(4096 * GIB)).isEqualTo(10_000);
    }

    @Test
    void theDefaultIsWhatThisMachineHasRoomFor() {
        assertThat(TestGateway.options(Optional.empty()).maxChildren()).isBetween(16, 10_000);
    }
}

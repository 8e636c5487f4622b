package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MachineMemoryTest {
    private static final long GIB = 1L << 30;

    @Test
    void aMachineHasRoomForOneChildInEach128MegabytesAndFor16InAnyCase() {
        assertThat(MachineMemory.children(0)).isEqualTo(16);
        assertThat(MachineMemory.children(GIB)).isEqualTo(16);
        assertThat(MachineMemory.children(8 * GIB)).isEqualTo(64);
        assertThat(MachineMemory.children(4096 * GIB)).isEqualTo(10_000);
    }

    @Test
    void theDefaultIsWhatThisMachineHasRoomFor() {
        assertThat(Limits.DEFAULT.maxChildren()).isBetween(16, 10_000);
    }
}

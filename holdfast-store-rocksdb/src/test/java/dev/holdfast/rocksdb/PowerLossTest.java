package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a store says of a machine that ended with the store open: perhaps something is missing, and nobody can tell. */
class PowerLossTest {
    @TempDir
    Path home;

    private RocksDbStore store;
    private Durability durability = Durability.PROCESS_DEATH;
    private int copies;
    private Path folder;

    private RocksDbStore open(String machine) {
        RocksDbStoreBuilder builder = RocksDbStore.builder(folder).survives(durability);
        builder.machine = machine;
        return builder.open();
    }

    @BeforeEach
    void begin() throws Exception {
        folder = home.resolve("store-" + durability);
        store = open("one");
        Sample.await(Sample.create(store, Sample.KEY));
    }

    /** The store goes on in another folder, which holds what a dead process has left. */
    private void die(String machine) {
        Path copy = home.resolve("copy-" + ++copies);
        FolderBed.copy(folder, copy);
        store.close();
        folder = copy;
        store = open(machine);
    }

    @AfterEach
    void close() {
        store.close();
    }

    private Claim claim() throws Exception {
        return Sample.await(store.claim(Sample.KEY, 7)).orElseThrow();
    }

    @Test
    void theDeathOfAProcessLosesNothing() throws Exception {
        die("one");
        assertThat(claim().certainFrom()).isOne();
    }

    @Test
    void theEndOfTheMachineMayHaveLostSomethingAndThatIsNotForgotten() throws Exception {
        die("two");
        assertThat(claim().certainFrom()).isEqualTo(2);
        assertThat(claim().certainFrom()).isEqualTo(2);
        die("two");
        assertThat(claim().certainFrom()).isEqualTo(2);
        die("three");
        assertThat(claim().certainFrom()).isEqualTo(5);
    }

    @Test
    void whoIsClaimedLateLearnsOfItToo() throws Exception {
        die("two");
        die("two");
        store.close();
        store = open("two");
        assertThat(claim().certainFrom()).isEqualTo(2);
    }

    @Test
    void anOrderlyEndLosesNothing() throws Exception {
        store.close();
        store = open("two");
        assertThat(claim().certainFrom()).isOne();
    }

    @Test
    void aStoreThatWaitsForTheDiskLosesNothing() throws Exception {
        store.close();
        durability = Durability.POWER_LOSS;
        begin();
        die("two");
        assertThat(claim().certainFrom()).isOne();
    }

    @Test
    void whereTheMachineHasNoNameEveryEndOutOfOrderCounts() throws Exception {
        die("");
        assertThat(claim().certainFrom()).isEqualTo(2);
    }
}

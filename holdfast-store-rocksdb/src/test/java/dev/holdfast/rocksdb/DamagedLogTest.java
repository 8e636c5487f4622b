package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.StreamId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A log that has lost something which was acknowledged: the store opens, and everybody learns of it. */
@Timeout(100)
class DamagedLogTest {
    private static final int EVENTS = 40;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path home;

    private final List<RocksDbStore> open = new ArrayList<>();

    @AfterEach
    void close() {
        open.forEach(RocksDbStore::close);
    }

    private RocksDbStore open(Path folder, Durability durability) {
        RocksDbStore store = RocksDbStore.builder(folder)
                .survives(durability)
                .memory(1 << 20)
                .open();
        open.add(store);
        return store;
    }

    /** What a process leaves that dies after so many events, of a session that stands in a table. */
    private Path died(Durability durability) throws Exception {
        Path folder = home.resolve("first");
        RocksDbStore first = open(folder, durability);
        Sample.await(Sample.create(first, Sample.KEY));
        first.close();
        RocksDbStore second = open(folder, durability);
        for (int offset = 1; offset <= EVENTS; offset++) {
            Sample.await(Sample.append(second, Sample.KEY, offset, 1000));
        }
        return copy(folder, "died");
    }

    private Path copy(Path folder, String name) {
        Path copy = home.resolve(name);
        FolderBed.copy(folder, copy);
        return copy;
    }

    private static Claim claim(RocksDbStore store) throws Exception {
        return Sample.await(store.claim(Sample.KEY, 7)).orElseThrow();
    }

    private void assertDoubtful(Path folder, Durability durability) throws Exception {
        RocksDbStore store = open(folder, durability);
        assertThat(store.usage().damage()).isPresent();
        Claim claim = claim(store);
        assertThat(claim.certainFrom()).isEqualTo(claim.epoch().counter());
        // it dies again: nobody has acknowledged it
        RocksDbStore again = open(copy(folder, "again"), durability);
        assertThat(again.usage().damage()).isPresent();
        assertThat(claim(again).certainFrom()).isEqualTo(2);
        again.close();
        RocksDbStore inOrder = open(home.resolve("again"), durability);
        assertThat(inOrder.usage().damage()).isEmpty();
        assertThat(claim(inOrder).certainFrom()).isEqualTo(2);
    }

    static Stream<Arguments> damages() {
        return Stream.of(Durability.PROCESS_DEATH, Durability.POWER_LOSS)
                .flatMap(durability -> Stream.of(Damage.values()).map(damage -> Arguments.of(damage, durability)));
    }

    @ParameterizedTest
    @MethodSource("damages")
    void whatALogHasLostIsTold(Damage damage, Durability durability) throws Exception {
        Path folder = died(durability);
        List<Path> logs = Damage.files(folder.resolve("db"), ".log");
        damage.to(logs.get(logs.size() - 1));
        assertDoubtful(folder, durability);
    }

    /** What was written last is not missing, and must not stand behind a hole. */
    @ParameterizedTest
    @EnumSource(Damage.class)
    void whatALogHasLostBeforeItsEndIsTold(Damage damage) throws Exception {
        Path first = home.resolve("first");
        RocksDbStore store = open(first, Durability.PROCESS_DEATH);
        Sample.await(Sample.create(store, Sample.KEY));
        store.close();
        store = open(first, Durability.PROCESS_DEATH);
        store.sessions().database().current().pause();
        int offset = 0;
        while (Damage.files(first.resolve("db"), ".log").size() < 3) {
            Sample.await(Sample.append(store, Sample.KEY, ++offset, 10_000));
        }
        Path folder = copy(first, "died");
        store.sessions().database().current().unpause();
        damage.to(Damage.files(folder.resolve("db"), ".log").get(1));
        assertDoubtful(folder, Durability.PROCESS_DEATH);
        RocksDbStore after = open.get(open.size() - 1);
        int events = Sample.await(after.read(Sample.KEY, StreamId.LISTENING, 0, Integer.MAX_VALUE))
                .size();
        assertThat(claim(after).last(StreamId.LISTENING)).isEqualTo(events).isLessThan(offset);
    }

    @ParameterizedTest
    @EnumSource(names = {"PROCESS_DEATH", "POWER_LOSS"})
    void aDeathInTheMiddleOfAWriteLosesNothing(Durability durability) throws Exception {
        Path folder = died(durability);
        List<Path> logs = Damage.files(folder.resolve("db"), ".log");
        Files.write(logs.get(logs.size() - 1), new byte[] {1, 2, 3, 4, 100, 0, 1, 9}, StandardOpenOption.APPEND);
        RocksDbStore store = open(folder, durability);
        assertThat(store.usage().damage()).isEmpty();
        assertThat(claim(store).certainFrom()).isOne();
        assertThat(claim(store).last(StreamId.LISTENING)).isEqualTo(EVENTS);
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void aDamagedMarkIsDoubt(Damage damage) throws Exception {
        Path folder = died(Durability.PROCESS_DEATH);
        damageAll(damage, folder.resolve(Watermark.FILE));
        assertDoubtful(folder, Durability.PROCESS_DEATH);
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void damagedOpeningsAreDoubt(Damage damage) throws Exception {
        Path folder = died(Durability.PROCESS_DEATH);
        damageAll(damage, folder.resolve(OpeningHistory.FILE));
        assertDoubtful(folder, Durability.PROCESS_DEATH);
    }

    /** One byte of them may be of no importance. */
    private static void damageAll(Damage damage, Path file) throws IOException {
        if (damage == Damage.FLIPPED) {
            byte[] bytes = Files.readAllBytes(file);
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] ^= (byte) (0x55 + i);
            }
            Files.write(file, bytes);
        } else {
            damage.to(file);
        }
    }

    /** RocksDB takes a manifest that ends early for one that was not written further. */
    @Test
    void aManifestThatIsCutAnywhereIsRefusedOrLosesNothingUntold() throws Exception {
        Path folder = died(Durability.PROCESS_DEATH);
        RocksDbStore store = open(folder, Durability.PROCESS_DEATH);
        Sample.await(Sample.append(store, Sample.KEY, EVENTS + 1, 1000));
        store.close();
        int refused = 0;
        int length = Files.readAllBytes(manifest(folder)).length;
        for (int left = 0; left < length; left += Math.max(1, length / 60)) {
            Path cut = copy(folder, "cut-" + left);
            Files.write(manifest(cut), Arrays.copyOf(Files.readAllBytes(manifest(cut)), left));
            try (RocksDbStore damaged = open(cut, Durability.PROCESS_DEATH)) {
                if (damaged.usage().damage().isEmpty()) {
                    assertThat(claim(damaged).last(StreamId.LISTENING)).isEqualTo(EVENTS + 1);
                }
            } catch (RocksDbStoreException e) {
                assertThat(e).hasMessageContaining(cut.toString());
                refused++;
            }
        }
        assertThat(refused).isPositive();
    }

    private static Path manifest(Path folder) {
        List<Path> manifests = Damage.files(folder.resolve("db"), "MANIFEST");
        return manifests.get(manifests.size() - 1);
    }
}

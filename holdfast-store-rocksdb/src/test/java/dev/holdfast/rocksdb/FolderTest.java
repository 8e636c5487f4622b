package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.SessionStore.Durability;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The folder of a store: whose it is, and what it says when it cannot be opened. */
@Tag("jdk")
class FolderTest {
    @TempDir
    Path temporary;

    private Path folder() {
        return temporary.resolve("store");
    }

    private RocksDbStore open() {
        return RocksDbStore.builder(folder()).open();
    }

    @Test
    void aSecondStoreInThisProcessIsRefused() {
        try (RocksDbStore first = open()) {
            assertThatThrownBy(this::open)
                    .isInstanceOf(RocksDbStoreException.class)
                    .hasMessageContaining(folder().toString())
                    .hasMessageContaining("is in use");
            assertThat(first.usage().trouble()).isEmpty();
        }
        open().close();
    }

    /** As a copy of this class in another class loader would hold it. */
    @Test
    void aFolderThatIsLockedElsewhereInThisProcessIsRefusedAndStaysLocked() throws Exception {
        open().close();
        try (FileChannel other = FileChannel.open(folder().resolve("LOCK"), StandardOpenOption.WRITE)) {
            other.lock();
            assertThatThrownBy(this::open).hasMessageContaining("is in use");
            Process second = ChildJvm.start(Second.class, folder().toString());
            try (BufferedReader said = second.inputReader()) {
                assertThat(said.readLine()).contains("is in use");
            }
            second.waitFor();
        }
        open().close();
    }

    @Test
    void aSecondProcessIsRefused() throws Exception {
        try (RocksDbStore first = open()) {
            assertThatThrownBy(this::open).hasMessageContaining("is in use");
            Process second = ChildJvm.start(Second.class, folder().toString());
            try (BufferedReader said = second.inputReader()) {
                assertThat(said.readLine())
                        .isEqualTo("the session store in " + folder()
                                + " is in use: one process at a time may write to it");
            }
            second.waitFor();
            Sample.await(Sample.create(first, Sample.KEY));
        }
    }

    static final class Second {
        private Second() {}

        public static void main(String[] args) {
            try (RocksDbStore store = RocksDbStore.builder(Path.of(args[0])).open()) {
                System.out.println("opened: " + store.usage());
            } catch (RocksDbStoreException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    @Test
    void aFolderThatIsRemovedIsToldAndNothingIsAcknowledgedAnyMore() throws Exception {
        try (RocksDbStore store = RocksDbStore.builder(folder())
                .sweepInterval(Duration.ofMillis(10))
                .open()) {
            Sample.await(Sample.create(store, Sample.KEY));
            remove(folder());
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            long offset = 1;
            while (failure(Sample.append(store, Sample.KEY, offset, 10)).isEmpty()) {
                assertThat(System.nanoTime()).isLessThan(deadline);
                offset++;
            }
            assertThat(failure(Sample.append(store, Sample.KEY, offset, 10)))
                    .isEqualTo("the session store in " + folder()
                            + " cannot write: its folder was removed or replaced while it was open");
        }
        assertThat(folder()).doesNotExist();
    }

    @Test
    void aFolderInThePlaceOfTheOneThatWasOpenedIsLeftToItsOwner() throws Exception {
        try (RocksDbStore first = open()) {
            Sample.await(Sample.create(first, Sample.KEY));
            Files.move(folder(), temporary.resolve("away"));
            Process second = ChildJvm.start(Second.class, folder().toString());
            try (BufferedReader said = second.inputReader()) {
                assertThat(said.readLine()).startsWith("opened");
            }
            second.waitFor();
            Path openings = folder().resolve("OPENINGS");
            FileTime written = Files.getLastModifiedTime(openings);
            assertThat(first.usage().trouble()).get().asString().contains("removed or replaced");
            assertThat(failure(Sample.append(first, Sample.KEY, 1, 10))).contains("removed or replaced");
            first.close();
            assertThat(Files.getLastModifiedTime(openings)).isEqualTo(written);
        }
        try (RocksDbStore again = open()) {
            assertThat(again.usage().trouble()).isEmpty();
            assertThat(again.usage().damage()).isEmpty();
        }
    }

    private static String failure(CompletionStage<Void> append) throws Exception {
        return Sample.await(append.handle((done, failed) -> failed == null ? "" : String.valueOf(failed.getMessage())));
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Test
    void aNewerFormatIsRefusedByBothNumbers() throws Exception {
        open().close();
        Files.writeString(folder().resolve("FORMAT"), "holdfast session store, format 2\n");
        assertThatThrownBy(this::open)
                .hasMessage(
                        "the session store in " + folder() + " has format 2, and this version reads up to format 1");
        Files.writeString(folder().resolve("FORMAT"), "holdfast session store, format 1\n");
        open().close();
    }

    @Test
    void aFolderOfSomebodyElseIsRefused() throws Exception {
        Files.createDirectory(folder());
        Files.writeString(folder().resolve("letter.txt"), "dear");
        assertThatThrownBy(this::open).hasMessageContaining("other files");
        assertThat(folder()).isDirectoryContaining(file -> file.endsWith("letter.txt"));
        try (var files = Files.list(folder())) {
            assertThat(files).hasSize(1);
        }
    }

    @Test
    void aFolderThatCannotBeWrittenIsRefused() throws Exception {
        Files.writeString(folder(), "a file");
        assertThatThrownBy(this::open)
                .isInstanceOf(RocksDbStoreException.class)
                .hasMessage("the session store in " + folder() + " cannot be opened for writing: " + folder()
                        + " is not a folder");
    }

    /** Even root cannot write there. */
    @Test
    void aReadOnlyFileSystemIsRefused() {
        Path readOnly = Path.of("/proc/self/holdfast");
        assertThatThrownBy(() -> RocksDbStore.builder(readOnly).open())
                .isInstanceOf(RocksDbStoreException.class)
                .hasMessageContaining("/holdfast cannot be opened for writing");
    }

    /** As somebody else may have put there who can write in the folder. */
    @ParameterizedTest
    @ValueSource(strings = {"OPENINGS.new", "OWNER.new", "WATERMARK", "LOCK"})
    void aLinkInThePlaceOfAFileIsNotFollowed(String name) throws Exception {
        open().close();
        Path file = Files.writeString(temporary.resolve("precious"), "precious");
        Files.deleteIfExists(folder().resolve(name));
        Files.createSymbolicLink(folder().resolve(name), file);

        assertThatThrownBy(() -> RocksDbStore.builder(folder())
                        .belongsTo("me", List.of("me"))
                        .open())
                .isInstanceOf(RocksDbStoreException.class)
                .hasMessageContaining("symbolic links");
        assertThat(file).hasContent("precious");
    }

    @Test
    void aLinkInThePlaceOfTheFormatIsNotFollowed() throws Exception {
        Path file = Files.writeString(temporary.resolve("precious"), "precious");
        Files.createSymbolicLink(Files.createDirectory(folder()).resolve("FORMAT.new"), file);

        assertThatThrownBy(this::open).isInstanceOf(RocksDbStoreException.class);
        assertThat(file).hasContent("precious");
    }

    @Test
    void aNewFolderIsItsOwnersOnly() throws Exception {
        open().close();
        assertThat(Files.getPosixFilePermissions(folder()))
                .containsExactlyInAnyOrder(
                        PosixFilePermission.OWNER_READ,
                        PosixFilePermission.OWNER_WRITE,
                        PosixFilePermission.OWNER_EXECUTE);
    }

    @Test
    void aSecondCloseChangesNothing() throws Exception {
        RocksDbStore store = open();
        store.close();
        store.close();
        String refused = Sample.await(Sample.create(store, Sample.KEY).handle((done, failure) -> failure.getMessage()));
        assertThat(refused).contains("is closed");
    }

    @Test
    void knobsHaveRanges() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RocksDbStore.builder(folder()).memory(1000))
                .withMessageContaining("1 MiB to 64 GiB");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RocksDbStore.builder(folder()).survives(Durability.NOTHING));
    }
}

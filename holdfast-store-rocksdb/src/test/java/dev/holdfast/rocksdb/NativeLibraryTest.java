package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("jdk")
class NativeLibraryTest {
    @TempDir
    Path temporary;

    @Test
    void aKilledProcessLeavesNoLibraryBehind() throws Exception {
        Path files = Files.createDirectory(temporary.resolve("files"));
        List<String> command =
                ChildJvm.command(Opener.class, temporary.resolve("store").toString());
        command.add(1, "-Djava.io.tmpdir=" + files);
        Process child = ChildJvm.start(new ProcessBuilder(command));
        try (BufferedReader said = child.inputReader()) {
            assertThat(said.readLine()).isEqualTo("open");
        } finally {
            child.destroyForcibly().waitFor();
        }
        assertThat(files).isEmptyDirectory();
    }

    static final class Opener {
        private Opener() {}

        public static void main(String[] args) throws Exception {
            try (RocksDbStore store = RocksDbStore.builder(Path.of(args[0])).open()) {
                System.out.println("open");
                Thread.currentThread().join();
                System.out.println("closed " + store.usage());
            }
        }
    }
}

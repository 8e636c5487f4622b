package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A folder for temporary files in which a native library cannot be put, or from which it cannot be loaded. */
@Tag("jdk")
@Timeout(120)
class TemporaryFolderTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private static List<String> properties(Path temporary) {
        return List.of("-Djava.io.tmpdir=" + temporary);
    }

    private List<String> serve(String store) {
        return List.of("serve", "--port", "0", "--store", store);
    }

    private void assertRefused(ProcessBuilder command, Path temporary) throws IOException, InterruptedException {
        Process process = command.redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).isEqualTo(1);
        assertThat(said)
                .contains("holdfast: the session store in ")
                .contains("cannot be loaded from the folder for temporary files, " + temporary + ", which must exist")
                .contains("name another by -Djava.io.tmpdir=DIR")
                .doesNotContain("--store");
    }

    @Test
    void oneThatIsMissingIsNamedWithWhatToDo() throws Exception {
        Path missing = folder.resolve("missing");
        assertRefused(
                GatewayProcess.builder(folder, properties(missing), serve("rocksdb:" + folder.resolve("data"))),
                missing);
    }

    /** Where nothing can be mounted, one that takes no file of some size. */
    @Test
    void oneThatIsMountedNoexecIsNamedWithWhatToDo() throws Exception {
        Path temporary = Files.createDirectory(folder.resolve("temporary"));
        SmallDisk disk = new SmallDisk(temporary, "noexec");
        ProcessBuilder command =
                GatewayProcess.builder(folder, properties(temporary), serve("rocksdb:" + folder.resolve("data")));
        List<String> words = new ArrayList<>(disk.mounted() ? List.of() : List.of("prlimit", "--fsize=100000"));
        words.addAll(command.command());
        assertRefused(command.command(disk.under(words)), temporary);
    }

    @ParameterizedTest
    @ValueSource(strings = {"memory", "redis"})
    void otherStoresNeedNone(String store) throws Exception {
        List<String> properties = properties(folder.resolve("missing"));
        try (RedisServer redis = RedisServer.start();
                GatewayProcess gateway =
                        GatewayProcess.start(folder, properties, serve(store.equals("redis") ? redis.url() : store))) {
            assertThat(HttpPeer.connected(gateway.url()).delete().statusCode()).isEqualTo(200);
        }
    }
}

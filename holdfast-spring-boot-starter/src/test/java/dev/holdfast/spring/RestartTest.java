package dev.holdfast.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;

/** A session in a folder lives on in the next application, and stays its owner's. */
@Timeout(120)
class RestartTest {
    private static ConfigurableApplicationContext start(Path folder, int port) {
        return Applications.start(
                AiApplication.class,
                "--server.port=" + port,
                "--holdfast.store.type=rocksdb",
                "--holdfast.store.rocksdb.folder=" + folder.resolve("sessions"));
    }

    @Test
    void aSessionOutlivesTheApplication(@TempDir Path folder) throws Exception {
        String alice = "Basic " + Base64.getEncoder().encodeToString("alice:secret".getBytes(UTF_8));
        int port;
        Wire client;
        try (ConfigurableApplicationContext application = start(folder, 0)) {
            port = Applications.port(application);
            client = Wire.open(port, "/mcp", "Authorization", alice);
            assertThat(client.call("greet", "{\"name\":\"you\"}")).contains("hello you");
        }
        try (ConfigurableApplicationContext again = start(folder, port)) {
            assertThat(Applications.port(again)).isEqualTo(port);
            assertThat(client.call("greet", "{\"name\":\"me\"}")).contains("hello me");
            assertThat(client.as()
                            .post("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}")
                            .statusCode())
                    .isEqualTo(404);
        }
    }
}

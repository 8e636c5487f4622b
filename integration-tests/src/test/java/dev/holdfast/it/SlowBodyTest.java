package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Bodies that come byte by byte: more of them than the container has threads, and nobody else waits. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class SlowBodyTest {
    private static final int THREADS = 2;
    private static final int SLOW_CLIENTS = 8;

    private final ContainerKind kind;

    SlowBodyTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void aSlowBodyHoldsNoThread() throws Exception {
        try (TestServer server = TestServer.in(kind).threads(THREADS).start()) {
            RawSession session = RawSession.open(server.port());
            List<RawConnection> slow = new ArrayList<>();
            for (int i = 0; i < SLOW_CLIENTS; i++) {
                byte[] body = body(i);
                RawRequest request =
                        session.post(Arrays.copyOf(body, 10)).with("Content-Length", Integer.toString(body.length));
                slow.add(session.send(request));
            }
            for (int at = 10; at < body(0).length - 1; at++) {
                for (int i = 0; i < SLOW_CLIENTS; i++) {
                    slow.get(i).write(Arrays.copyOfRange(body(i), at, at + 1));
                }
                if (at % 10 == 0) {
                    session.assertAlive();
                }
            }
            session.assertAlive();
            for (int i = 0; i < SLOW_CLIENTS; i++) {
                byte[] body = body(i);
                try (RawConnection connection = slow.get(i)) {
                    connection.write(Arrays.copyOfRange(body, body.length - 1, body.length));
                    assertThat(connection.head().status()).isEqualTo(200);
                    assertThat(connection.message().json().at("/id").asInt()).isEqualTo(i);
                }
            }
        }
    }

    private static byte[] body(int id) {
        return Json.echo(Integer.toString(id), "slow").getBytes(UTF_8);
    }
}

package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** A client that waits costs no thread. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(240)
@Tag("edge")
class IdleThreadsTest {
    private static final int CLIENTS = 300;
    private static final int CONTAINER_THREADS = 8;
    /** Two pools of four, and their clock. */
    private static final int LATE_HEAD_THREADS = 9;

    private final ContainerKind kind;

    IdleThreadsTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void clientsThatWaitNeedNoThreads() throws Exception {
        try (TestServer server = TestServer.in(kind)
                .threads(CONTAINER_THREADS)
                .tool("endless", (exchange, request) -> Mono.never())
                .start()) {
            waiting(server);
            int before = threads();
            // pools may have been smaller then than they may become: the container's, and those that write late heads
            int growth = CONTAINER_THREADS + LATE_HEAD_THREADS;

            List<RawConnection> listening = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                listening.add(waiting(server));
            }

            await().until(() -> threads() <= before + growth);
            server.log("hello");
            for (RawConnection connection : listening) {
                assertThat(connection.message().json().at("/params/data").asString())
                        .isEqualTo("hello");
                connection.close();
            }
            assertThat(threads()).isLessThanOrEqualTo(before + growth);
        }
    }

    /** A listening connection of a session of its own, in which a call runs as well. */
    private static RawConnection waiting(TestServer server) {
        RawSession session = RawSession.open(server.port());
        assertThat(session.stream(session.post(Json.call("1", "endless")))
                        .frame()
                        .orElseThrow()
                        .message())
                .isFalse();
        RawConnection listening = session.stream(session.get());
        assertThat(listening.frame().orElseThrow().message()).isFalse();
        return listening;
    }

    private static int threads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }
}

package dev.holdfast.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.server.McpServer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The end of a transport, by whatever thread. */
@Timeout(60)
class ClosingTest {
    private static final long SOON_MILLIS = 20_000;

    private final Set<Thread> before = Thread.getAllStackTraces().keySet();
    private final HoldfastTransportProvider transport =
            HoldfastTransportProvider.builder().build();

    ClosingTest() {
        McpServer.sync(transport).serverInfo("closing", "1").build();
    }

    /** The threads that were made for the transport. */
    private List<Thread> made() {
        List<Thread> made = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast") && !before.contains(thread))
                .toList();
        assertThat(made).isNotEmpty();
        return made;
    }

    private static void assertOver(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join(SOON_MILLIS);
            assertThat(thread.isAlive()).as(thread.getName()).isFalse();
        }
    }

    @Test
    void aThreadThatIsInterruptedEndsAll() throws Exception {
        List<Thread> made = made();
        Thread.currentThread().interrupt();

        transport.destroy();

        assertThat(Thread.interrupted()).isTrue();
        assertOver(made);
    }

    @Test
    void aThreadOfReactorEndsAll() throws Exception {
        List<Thread> made = made();

        Mono.fromRunnable(transport::destroy)
                .subscribeOn(Schedulers.parallel())
                .toFuture()
                .get(SOON_MILLIS, TimeUnit.MILLISECONDS);

        assertOver(made);
    }
}

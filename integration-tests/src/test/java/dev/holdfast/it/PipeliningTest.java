package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** Clients that ask for much, one request behind the other on one connection, and read none of the answers. */
@Tag("jdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PipeliningTest {
    private static final int CONTAINER_THREADS = 8;
    private static final int CLIENTS = 12;
    private static final int LOOKS = 50;
    private static final int RECEIVE_BUFFER = 8 << 10;

    private final ContainerKind kind;

    @TempDir
    Path folder;

    PipeliningTest(ContainerKind kind) {
        this.kind = kind;
    }

    /** The store completes what it has written on threads of its own, which are few. Small answers go another way than large ones. */
    @ParameterizedTest
    @CsvSource({"60000, 150", "6000, 1500"})
    void theyHoldNoThreadThatOthersNeed(int answerChars, int requests) throws Exception {
        String answer = "a".repeat(answerChars);
        AtomicInteger calls = new AtomicInteger();
        List<RawConnection> deaf = new ArrayList<>();
        try (RocksDbStore store = RocksDbStore.builder(folder)
                        .survives(Durability.POWER_LOSS)
                        .open();
                TestServer server = TestServer.in(kind)
                        .threads(CONTAINER_THREADS)
                        .options(options -> options.store(store))
                        .tool("big", (exchange, request) -> {
                            calls.incrementAndGet();
                            return Mono.just(answer);
                        })
                        .start()) {
            RawSession bystander = RawSession.open(server.port());
            for (int i = 0; i < CLIENTS; i++) {
                RawSession session = RawSession.open(server.port());
                RawConnection connection = RawConnection.open(server.port(), RECEIVE_BUFFER);
                deaf.add(connection);
                for (int id = 1; id <= requests; id++) {
                    connection.send(session.post(Json.call(Integer.toString(id), "big")));
                }
                bystander.assertAlive();
            }
            int before;
            do {
                before = calls.get();
                for (int i = 0; i < LOOKS; i++) {
                    bystander.assertAlive();
                }
            } while (calls.get() > before);
            assertThat(before).as("their connections are full").isLessThan(CLIENTS * requests);
            deaf.forEach(RawConnection::reset);
        }
    }
}

package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.SessionStore.Durability;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What who watches the gateway is told about its store. */
@Timeout(60)
class StatusTest {
    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();

    private Page health(StoreHealth.State state) {
        return Status.health(
                engine, new StoreHealth("rocksdb", Durability.PROCESS_DEATH, OptionalLong.of(4096), state));
    }

    @AfterEach
    void stop() {
        engine.close();
    }

    @Test
    void aStoreOnDiskTellsItsSizeAndWhatItSurvives() {
        assertThat(health(StoreHealth.State.WELL))
                .isEqualTo(Page.json(
                        200,
                        "{\"status\":\"ok\",\"sessions\":0,\"store\":"
                                + "{\"kind\":\"rocksdb\",\"survives\":\"process death\",\"bytes\":4096}}"));
    }

    @ParameterizedTest
    @CsvSource({
        "CANNOT_WRITE, cannot write; the log says why",
        "CANNOT_READ, cannot read; the log says why",
        "DAMAGED, was damaged; the log says what is lost",
        "HANGS, does not answer",
        "NO_LEASE, 'answers, but this node has no lease'"
    })
    void aStoreInTroubleDegradesANodeThatServesOn(StoreHealth.State state, String trouble) {
        Page page = health(state);

        assertThat(page.code()).isEqualTo(200);
        assertThat(page.text()).startsWith("{\"status\":\"degraded\"").endsWith("\"trouble\":\"" + trouble + "\"}}\n");
    }

    @Test
    void aNodeThatDrainsWantsNoClientsHoweverItsStoreIs() {
        engine.drain(Duration.ZERO);
        Page page = health(StoreHealth.State.CANNOT_WRITE);

        assertThat(page.code()).isEqualTo(503);
        assertThat(page.text()).startsWith("{\"status\":\"draining\"");
    }
}

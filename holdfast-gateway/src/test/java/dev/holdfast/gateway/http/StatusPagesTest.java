package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.SessionStore.Durability;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What who watches the gateway is told about its store. */
@Timeout(60)
class StatusPagesTest {
    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();

    private StatusPages.Page health(StoreHealth.State state) {
        StoreHealth store = new StoreHealth("rocksdb", Durability.PROCESS_DEATH, OptionalLong.of(4096), state);
        return new StatusPages(
                        () -> List.of(new StatusPages.Server("", engine, () -> store)),
                        Map::of,
                        StatusPages.Guard.NONE,
                        () -> "")
                .health();
    }

    @AfterEach
    void stop() {
        engine.close();
    }

    @Test
    void aStoreOnDiskTellsItsSizeAndWhatItSurvives() {
        assertThat(health(StoreHealth.State.WELL))
                .isEqualTo(new StatusPages.Page(
                        200,
                        "application/json;charset=utf-8",
                        "{\"status\":\"ok\",\"sessions\":0,\"store\":"
                                + "{\"kind\":\"rocksdb\",\"survives\":\"process death\",\"bytes\":4096}}\n"));
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
        StatusPages.Page page = health(state);

        assertThat(page.code()).isEqualTo(200);
        assertThat(page.text()).startsWith("{\"status\":\"degraded\"").endsWith("\"trouble\":\"" + trouble + "\"}}\n");
    }

    @Test
    void aNodeWithoutAnyServerWantsNoClients() {
        Map<String, String> failed = Map.of("a", "why");
        StatusPages.Page none = new StatusPages(List::of, () -> failed, StatusPages.Guard.NONE, () -> "").health();
        assertThat(none.code()).isEqualTo(503);
        assertThat(none.text()).isEqualTo("{\"status\":\"degraded\",\"sessions\":0,\"servers\":0,\"failed\":1}\n");
        assertThat(new StatusPages(List::of, Map::of, StatusPages.Guard.NONE, () -> "")
                        .health()
                        .code())
                .isEqualTo(200);
    }

    @Test
    void aNodeThatDrainsWantsNoClientsHoweverItsStoreIs() {
        engine.drain(Duration.ZERO);
        StatusPages.Page page = health(StoreHealth.State.CANNOT_WRITE);

        assertThat(page.code()).isEqualTo(503);
        assertThat(page.text()).startsWith("{\"status\":\"draining\"");
    }
}

package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.spi.InboundMessage;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** With what context a backend's connection is opened: that of the message for which it is. */
class OpeningContextTest {
    @AutoClose
    private final TestBed bed = TestBed.durable();

    private Object openedWith() {
        return bed.backend.life().request.initialize().context();
    }

    @Test
    void theFirstIsOpenedWithThatOfInitialize() {
        InboundMessage initialize = Wire.initialize().withContext("a header");
        assertThat(bed.engine.open(initialize, "", TestBed.LIFETIME)).isNotNull();
        assertThat(openedWith()).isEqualTo("a header");
    }

    @Test
    void oneThatNeedsNoneIsOpenedAsSoonAsItsSessionIsBack() {
        String id = bed.open().id();
        bed.die();
        assertThat(bed.find(id, "")).isPresent();
        assertThat(bed.backend.lives).hasSize(2);
        assertThat(openedWith()).isSameAs(InboundMessage.NO_CONTEXT);
    }

    @Test
    void oneThatNeedsItIsOpenedForTheFirstMessageOfTheClient() {
        bed.backend.needsContext = true;
        String id = bed.open().id();
        bed.die();
        Session back = bed.find(id, "").orElseThrow();
        assertThat(bed.backend.lives).hasSize(1);
        Call call = TestBed.accepted(back.call(List.of(Wire.request(1).withContext("a header"))));
        call.dispatch();
        assertThat(bed.backend.lives).hasSize(2);
        assertThat(openedWith()).isEqualTo("a header");
        assertThat(TestBed.now(bed.backend.life().call(1).respond())).isNull();
    }
}

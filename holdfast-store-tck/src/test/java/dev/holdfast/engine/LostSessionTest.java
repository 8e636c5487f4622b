package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Finding.Missing;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A store that will never again be able to read what it keeps of a session: the session ends, and no other. */
class LostSessionTest {
    private final TestBed bed = TestBed.durable();
    private final Session other = bed.open();
    private final Session session = bed.open();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
    }

    private void assertLost() {
        assertThat(bed.store.deleted).containsExactly(SessionKey.of(session.id(), ""));
        assertThat(TestBed.now(bed.engine.find(session.id(), ""))).isInstanceOf(Missing.class);
        assertThat(bed.news.heard).contains("closed: RESTORE_FAILED");
        assertThat(bed.find(other.id(), "")).isPresent();
    }

    @ParameterizedTest
    @ValueSource(strings = {"claim", "read"})
    void aSessionThatCannotBeBroughtBackEnds(String damaged) {
        Connection listening = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("a"));
        assertThat(listening.read()).containsExactly("a");
        bed.die();
        bed.store.damaged = damaged;
        assertThat(TestBed.now(bed.engine.find(session.id(), ""))).isInstanceOf(Missing.class);
        assertLost();
    }

    @Test
    void aSessionInMemoryWhoseLogCannotBeReadAnyMoreEnds() {
        bed.store.damaged = "append claim";
        bed.backend.life().sink.send(Wire.notice("a"));
        bed.pass(Duration.ofSeconds(1));
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertLost();
    }
}

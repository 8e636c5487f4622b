package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What counts as confirmed, and so is not sent again to a client that names no cursor. */
class ConfirmationTest {
    private static final Duration TICK = Duration.ofNanos(1);
    private static final Duration LONG_ENOUGH = Duration.ofMillis(100);

    @AutoClose
    private final TestBed bed = new TestBed();

    private final Session session = bed.open();

    private void notice(String text) {
        bed.backend.life().sink.send(Wire.notice(text));
    }

    /** Reads everything, and writes it in no time. */
    private void write(Connection connection) {
        connection.read();
        connection.reader.wrote(bed.time.getAsLong(), bed.time.getAsLong());
    }

    @Test
    void anEventIsNotConfirmedByItsOwnWrite() {
        Connection connection = TestBed.listen(session);
        notice("a");
        write(connection);
        connection.broken();
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }

    @Test
    void aWriteThatBeginsTooSoonConfirmsNothing() {
        Connection connection = TestBed.listen(session);
        notice("a");
        write(connection);
        bed.pass(LONG_ENOUGH.minus(TICK));
        write(connection);
        connection.broken();
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }

    @Test
    void aWriteThatBeginsLaterConfirmsWhatWasWrittenBefore() {
        Connection connection = TestBed.listen(session);
        notice("a");
        write(connection);
        bed.pass(LONG_ENOUGH);
        notice("b");
        write(connection);
        connection.broken();
        assertThat(TestBed.listen(session).read()).containsExactly("b");
    }

    @Test
    void theTimeCountsFromTheEndOfTheWriteToTheBeginningOfTheNext() {
        Connection connection = TestBed.listen(session);
        notice("a");
        connection.read();
        long began = bed.time.getAsLong();
        bed.pass(Duration.ofSeconds(1));
        long completed = bed.time.getAsLong();
        connection.reader.wrote(began, completed);
        bed.pass(Duration.ofSeconds(1));
        connection.reader.wrote(completed + LONG_ENOUGH.toNanos() - 1, bed.time.getAsLong());
        connection.broken();
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }

    @Test
    void steadyWritesConfirmWithADelay() {
        Connection connection = TestBed.listen(session);
        for (int i = 0; i < 50; i++) {
            notice("n" + i);
            write(connection);
            bed.pass(Duration.ofMillis(20));
        }
        connection.broken();
        Connection next = TestBed.listen(session);
        assertThat(next.read()).endsWith("n48", "n49").hasSizeBetween(5, 15);
    }

    @Test
    void anEndInOrderConfirmsEverythingThatWasRead() {
        Connection connection = TestBed.listen(session);
        notice("a");
        connection.read();
        notice("b");
        connection.handover();
        assertThat(TestBed.listen(session).read()).containsExactly("b");
    }

    @Test
    void aCursorConfirmsWhatLiesBeforeIt() {
        Connection connection = TestBed.listen(session);
        notice("a");
        notice("b");
        connection.read();
        connection.broken();
        TestBed.resume(session, connection).broken();
        assertThat(TestBed.listen(session).read()).isEmpty();
    }

    @Test
    void whatWasWrittenToATakenOverConnectionIsSentAgain() {
        Connection older = TestBed.listen(session);
        notice("a");
        write(older);
        bed.pass(Duration.ofSeconds(10));
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }
}

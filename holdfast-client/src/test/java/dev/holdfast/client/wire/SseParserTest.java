package dev.holdfast.client.wire;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SseParserTest {
    private final List<String> events = new ArrayList<>();
    private final SseParser parser = new SseParser(
            100,
            event -> events.add(event.id().orElse("-") + "|" + event.name() + "|" + new String(event.data(), UTF_8)));

    private void read(String text) throws Exception {
        parser.read(ByteBuffer.wrap(text.getBytes(UTF_8)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"\n", "\r", "\r\n"})
    void everyKindOfLineEndAtEveryCutIsRead(String end) throws Exception {
        String stream = "\uFEFFid: 1,data: ä,data:b,,: note,event: other,data: x,,id,data:,,".replace(",", end);
        byte[] bytes = stream.getBytes(UTF_8);
        for (int cut = 0; cut <= bytes.length; cut++) {
            List<String> found = new ArrayList<>();
            SseParser each = new SseParser(
                    100,
                    event -> found.add(
                            event.id().orElse("-") + "|" + event.name() + "|" + new String(event.data(), UTF_8)));
            each.read(ByteBuffer.wrap(bytes, 0, cut));
            each.read(ByteBuffer.wrap(bytes, cut, bytes.length - cut));
            assertThat(found).as("cut at %d", cut).containsExactly("1|message|ä\nb", "-|other|x", "|message|");
        }
    }

    @Test
    void eventWithoutDataMovesTheCursorOnly() throws Exception {
        read("id: p\ndata:\n\nretry: 300\n\n");

        assertThat(events).containsExactly("p|message|");
        assertThat(parser.retry()).isEqualTo(OptionalLong.of(300));
    }

    @Test
    void unfinishedEventIsNone() throws Exception {
        read("data: half");

        assertThat(events).isEmpty();
        assertThat(parser.betweenLines()).isFalse();
    }

    @Test
    void retryThatIsNoNumberIsIgnored() throws Exception {
        read("retry: 5\nretry: soon\nretry: 99999999999999\n");

        assertThat(parser.retry()).isEqualTo(OptionalLong.of(5));
    }

    @Test
    void commentIsToldOnce() throws Exception {
        read(":\n");

        assertThat(parser.commented()).isTrue();
        assertThat(parser.commented()).isFalse();
    }

    @Test
    void messageOfTheLargestSizePassesAndALargerOneDoesNot() throws Exception {
        read("data: " + "x".repeat(100) + "\n\n");
        assertThat(events).hasSize(1);

        assertThatThrownBy(() -> read("id: 7\ndata: " + "x".repeat(101) + "\n\n"))
                .isInstanceOfSatisfying(
                        OversizedEventException.class, e -> assertThat(e.id()).contains("7"));
    }

    /** A line that goes on for longer than a message may be, and than the fields of an event may beside their data. */
    private void readLong(String line) throws Exception {
        read(line);
        for (int i = 0; i < 200; i++) {
            read("x".repeat(100));
        }
    }

    @Test
    void dataWithoutAnEndIsBounded() {
        assertThatThrownBy(() -> readLong("data: ")).isInstanceOf(OversizedEventException.class);
        assertThat(parser.kept()).isLessThan(10_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {":", "\uFEFF:", "id: ", "retry: 1", "event: ", "x", "x: ", "data"})
    void anyOtherLineMayBeLongAndIsNotKept(String line) throws Exception {
        readLong(line);
        assertThat(parser.kept()).isLessThan(10_000);

        read("\ndata: a\n\ndata: b\n\n");

        assertThat(events).hasSize(2);
        assertThat(events.get(1)).isEqualTo("-|message|b");
        assertThat(parser.commented()).isEqualTo(line.endsWith(":"));
        assertThat(parser.retry()).isEmpty();
    }

    /** It is not taken for a message. */
    @Test
    void eventOfALongNameHasNoOther() throws Exception {
        readLong("event: message");

        read("\ndata: a\n\n");

        assertThat(events).singleElement().asString().startsWith("-|messagexxx").hasSizeLessThan(10_000);
    }

    @Test
    void nameOfAnEventIsKeptUntilTheEventIsWhole() throws Exception {
        read("event: other\n");
        assertThat(parser.kept()).isEqualTo("other".length());

        read("\n");
        assertThat(parser.kept()).isZero();
    }

    @Test
    void idThatNoHeaderCarriesIsNone() throws Exception {
        String longest = "i".repeat(4_096);

        read("id: " + longest + "\ndata: a\n\nid: " + longest + "i\ndata: b\n\n");
        read("id: 7\nid: " + longest + "i\ndata: c\n\n");

        assertThat(events).containsExactly(longest + "|message|a", "-|message|b", "7|message|c");
    }
}

package dev.holdfast.gateway.process;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineReaderTest {
    private static final int LIMIT = 200_000;
    private static final int SHOWN = 1024;
    private static final int PIECE = 64 << 10;

    /** A stream that hands out a few bytes at a time. */
    private static InputStream inPieces(String text, int most) {
        return new ByteArrayInputStream(text.getBytes(UTF_8)) {
            @Override
            public synchronized int read(byte[] into, int at, int length) {
                return super.read(into, at, Math.min(length, most));
            }
        };
    }

    private static List<String> lines(InputStream in) {
        LineReader reader = new LineReader(in, LIMIT);
        List<String> all = new ArrayList<>();
        LineReader.Next next = reader.next();
        while (!(next instanceof LineReader.End)) {
            if (next instanceof LineReader.Line line) {
                all.add(new String(line.bytes(), UTF_8));
            } else if (next instanceof LineReader.TooLong tooLong) {
                all.add("too long: " + tooLong.start().length);
            }
            next = reader.next();
        }
        return all;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 8192, 100_000})
    void linesAreSplitWhateverThePiecesThatTheyComeIn(int piece) {
        String big = "y".repeat(15_000);

        assertThat(lines(inPieces("a\n\nbc\r\n" + big + "\nd\re\n" + big + "\nlast", piece)))
                .containsExactly("a", "", "bc", big, "d\re", big, "last");
    }

    @ParameterizedTest
    @ValueSource(ints = {7, 1000, 8192, 100_000})
    void aLineAtTheLimitIsWholeAndOneBeyondIsCut(int piece) {
        String most = "x".repeat(LIMIT);

        assertThat(lines(inPieces(most + "\n" + most + "x\nnext\n" + most.repeat(3) + "\n" + most.repeat(2), piece)))
                .containsExactly(most, "too long: " + SHOWN, "next", "too long: " + SHOWN, "too long: " + SHOWN);
    }

    @ParameterizedTest
    @ValueSource(ints = {7, 8192, 100_000})
    void aLineOfAnyLengthAroundThatOfABufferIsWhole(int piece) {
        for (int length : new int[] {PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1, 2 * PIECE, 3 * PIECE}) {
            String line = "x".repeat(length - 1) + "y";
            assertThat(lines(inPieces("a\n" + line + "\nb\n" + line + "\r\nc\n" + line, piece)))
                    .containsExactly("a", line, "b", line, "c", line);
        }
    }

    @Test
    void anEmptyStreamHasNoLines() {
        assertThat(lines(inPieces("", 1))).isEmpty();
    }
}

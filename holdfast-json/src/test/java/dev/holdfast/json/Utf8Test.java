package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Utf8Test {
    @Test
    void everyCodePointButTheSurrogatesIsValid() {
        for (int codePoint = 0; codePoint <= Character.MAX_CODE_POINT; codePoint++) {
            if (codePoint < Character.MIN_SURROGATE || codePoint > Character.MAX_SURROGATE) {
                byte[] bytes = Character.toString(codePoint).getBytes(UTF_8);
                assertThat(JsonBytes.utf8End(bytes, 0)).isEqualTo(bytes.length);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "80",
                "bf",
                "c080",
                "c1bf",
                "e08080",
                "e09fbf",
                "eda080",
                "edbfbf",
                "f0808080",
                "f08fbfbf",
                "f4908080",
                "f5808080",
                "ff",
                "fe",
                "c3",
                "e697",
                "f09f98",
                "c341",
                "e69741",
                "f09f9841"
            })
    void whatIsNoCharacterIsFoundWhereItBegins(String hex) {
        byte[] wrong = HexFormat.of().parseHex(hex);
        for (int before = 0; before < 20; before++) {
            ByteBuffer bytes = ByteBuffer.allocate(before + wrong.length);
            bytes.put("a".repeat(before).getBytes(UTF_8)).put(wrong);
            assertThat(JsonBytes.utf8End(bytes.array(), 0)).isEqualTo(before);
        }
    }

    @Test
    void agreesWithTheJdkOnRandomBytes() {
        Random random = new Random(20);
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = new byte[random.nextInt(24)];
            random.nextBytes(bytes);
            for (int at = random.nextInt(24); at < bytes.length; at++) {
                bytes[at] &= 0x7F;
            }
            ByteBuffer in = ByteBuffer.wrap(bytes);
            UTF_8.newDecoder().decode(in, CharBuffer.allocate(24), true);
            assertThat(JsonBytes.utf8End(bytes, 0)).isEqualTo(in.position());
        }
    }
}

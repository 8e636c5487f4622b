package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.RequestId;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TaggedNotificationTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{}}",
                "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"uri\":\"u\"}}",
                "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"uri\":\"ü\",\"_meta\":{}}}",
                "{\"params\":{\"_meta\":{\"b\":1},\"uri\":\"u\"},\"jsonrpc\":\"2.0\",\"method\":\"a\"}"
            })
    void aNotificationSaysToWhichSubscriptionItBelongs(String notification) {
        byte[] tagged = TaggedNotification.of(notification.getBytes(UTF_8), new RequestId("\"s\""));

        assertThat(JsonPeek.string(tagged, "params", "_meta", "io.modelcontextprotocol/subscriptionId"))
                .contains("s");
        assertThat(new EnvelopeReader().message(tagged).method()).isEqualTo("a");
        for (String member : new String[] {"uri", "_meta"}) {
            byte[] before = notification.getBytes(UTF_8);
            if (member.equals("uri")) {
                assertThat(JsonPeek.string(tagged, "params", member))
                        .isEqualTo(JsonPeek.string(before, "params", member));
            } else {
                assertThat(JsonPeek.members(tagged, "params", member))
                        .containsAllEntriesOf(JsonPeek.members(before, "params", member));
            }
        }
    }
}

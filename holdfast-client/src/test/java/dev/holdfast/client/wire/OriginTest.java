package dev.holdfast.client.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OriginTest {
    @ParameterizedTest
    @CsvSource({
        "http://h/sse, ?sessionId=1, http://h/sse?sessionId=1",
        "http://h/a/sse?token=t#f, ?sessionId=1, http://h/a/sse?sessionId=1",
        "http://h, ?sessionId=1, http://h?sessionId=1",
        "http://h/a/sse, message?s=1, http://h/a/message?s=1",
        "http://h/a/sse, /message, http://h/message",
        "http://h/a/sse, http://other/m, http://other/m",
    })
    void referencesAreResolvedAsTheStandardSays(URI base, String reference, URI expected) {
        assertThat(Origin.resolve(base, reference)).isEqualTo(expected);
    }
}

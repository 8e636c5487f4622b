package dev.holdfast.servlet.guard;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AcceptTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "BOTH | ''",
                "BOTH | ' '",
                "BOTH | */*",
                "BOTH | *",
                "BOTH | application/json, text/event-stream",
                "BOTH | text/event-stream,application/json",
                "BOTH | Application/JSON;Charset=utf-8 , TEXT/Event-Stream",
                "BOTH | application/*;q=0.5, text/*;q=0.001",
                "BOTH | text/html, application/xhtml+xml, application/xml;q=0.9, image/avif, */*;q=0.8",
                "BOTH | text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
                "BOTH | application/json;q=, text/event-stream;q=x",
                "BOTH | */*;q=0, application/json, text/event-stream",
                "BOTH | text/*;q=0, */*, text/event-stream;q=0.1",
                "JSON | application/json",
                "JSON | application/json;q=0.1",
                "JSON | application/*",
                "JSON | application/json, text/plain, text/html",
                "JSON | application/json, text/event-stream;q=0",
                "JSON | text/event-stream;q=0.0, */*",
                "JSON | */*, text/event-stream; Q=0.000",
                "JSON | */*, text/*;q=0 ;ext=1",
                "JSON | text/event-stream ; q=0, application/json ; charset=utf-8",
                "EVENT_STREAM | text/event-stream",
                "EVENT_STREAM | text/*",
                "EVENT_STREAM | application/json;q=0.0, text/event-stream",
                "EVENT_STREAM | */*;q=1.0, application/json;q=0",
                "NEITHER | text/html",
                "NEITHER | */*;q=0",
                "NEITHER | application/jsonp, text/event-streams",
                "NEITHER | json",
                "NEITHER | ,",
                "NEITHER | application/json;q=0, text/event-stream;q=0",
            })
    void aHeaderSaysWhatAClientTakes(Accept accept, String header) {
        assertThat(Accept.of(header)).isEqualTo(accept);
    }
}

package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.RequestId;
import java.util.List;
import org.junit.jupiter.api.Test;

class RequestMetaTest {
    private static final String VERSION = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"";

    private static Envelope request(String meta) {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"_meta\":{"
                + meta + "},\"arguments\":{\"_meta\":{}}}}";
        return new EnvelopeReader().message(body.getBytes(UTF_8));
    }

    private static RequestMeta capabilities(String capabilities) {
        return RequestMeta.of(request(VERSION + ",\"io.modelcontextprotocol/clientCapabilities\":" + capabilities));
    }

    @Test
    void theSameCapabilitiesAreTheSameText() {
        String one = capabilities(
                        "{\"sampling\":{\"tools\":{}, \"context\":{}},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}},\"roots\":{}}")
                .capabilities()
                .orElseThrow();

        assertThat(one).isEqualTo("{\"roots\":{},\"sampling\":{\"context\":{},\"tools\":{}}}");
        assertThat(capabilities(" { \"roots\" : { } , \"sampling\" : {\"context\":{},\"tools\":{} } } ")
                        .capabilities())
                .contains(one);
    }

    @Test
    void itsServerHearsOfItsExtensionsButForTasks() {
        RequestMeta meta = capabilities(
                "{\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[\"text/html\"]},\"io.modelcontextprotocol/tasks\":{}}}");

        assertThat(meta.capabilities())
                .contains("{\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[\"text/html\"]}}}");
    }

    @Test
    void aClientSaysWhatItCanBeAsked() {
        RequestMeta meta = capabilities(
                "{\"elicitation\":{},\"roots\":true,\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");

        assertThat(meta.answers()).containsExactly("elicitation");
        assertThat(meta.tasks()).isTrue();
        assertThat(capabilities("{}").tasks()).isFalse();
    }

    @Test
    void whatIsNotSaidIsEmpty() {
        assertThat(RequestMeta.of(request(VERSION)).capabilities()).isEmpty();
        assertThat(capabilities("[]").capabilities()).isEmpty();
        assertThat(RequestMeta.of(request("\"io.modelcontextprotocol/clientCapabilities\":{}"))
                        .capabilities())
                .isEmpty();
        assertThat(RequestMeta.of(request(VERSION + ",\"io.modelcontextprotocol/logLevel\":\"info\""))
                        .logLevel())
                .contains("info");
        assertThat(RequestMeta.of(request(VERSION)).logLevel()).isEmpty();
    }

    private static byte[] line(String level) {
        return ("{\"method\":\"notifications/message\",\"params\":{\"level\":" + level + "}}").getBytes(UTF_8);
    }

    @Test
    void aClientHearsOfTheLogFromItsLevelOn() {
        RequestMeta meta = RequestMeta.of(request(VERSION + ",\"io.modelcontextprotocol/logLevel\":\"warning\""));

        assertThat(List.of("\"warning\"", "\"error\"", "\"emergency\"", "\"loud\"", "7"))
                .allMatch(level -> meta.hears(line(level)));
        assertThat(List.of("\"debug\"", "\"info\"", "\"notice\"")).noneMatch(level -> meta.hears(line(level)));
        assertThat(RequestMeta.of(request(VERSION)).hears(line("\"error\""))).isFalse();
    }

    @Test
    void itIsFoundInABatchAndBehindWhiteSpace() {
        String body = "\n [ {\"jsonrpc\":\"2.0\",\"method\":\"a\"} , {\"params\":{\"_meta\":{" + VERSION
                + ",\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}},\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]";
        EnvelopeReader.Batch batch = (EnvelopeReader.Batch) new EnvelopeReader().read(body.getBytes(UTF_8));

        assertThat(RequestMeta.of(batch.messages().get(1)).answers()).containsExactly("roots");
    }

    @Test
    void aRetryIsSeen() {
        byte[] body =
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"requestState\":\"s\"}}".getBytes(UTF_8);
        Envelope retry = new EnvelopeReader().message(body);

        assertThat(retry.retries()).isTrue();
        assertThat(retry.withId(new RequestId("2")).retries()).isTrue();
        assertThat(request(VERSION).retries()).isFalse();
    }
}

package dev.holdfast.gateway.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.Outcome;
import dev.holdfast.json.EnvelopeReader;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AnswersTest {
    private static final byte[] CALL = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}".getBytes(UTF_8);

    private static String told(int status, String... challenges) {
        Outcome refused = new Outcome.Refused(
                status,
                HttpHeaders.of(Map.of("WWW-Authenticate", List.of(challenges)), (name, value) -> true),
                new byte[0],
                HttpRequest.newBuilder(URI.create("http://127.0.0.1/mcp")).build());
        EnvelopeReader.Single call = (EnvelopeReader.Single) new EnvelopeReader().read(CALL);
        return new String(Bridge.Answers.to(call.message(), refused).orElseThrow(), UTF_8);
    }

    @Test
    void whatTheServerSaysOfCredentialsIsTold() {
        assertThat(told(403, "Bearer error=\"insufficient_scope\", scope=\"files:write\""))
                .startsWith("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":")
                .contains("(status 403, Bearer error=\\\"insufficient_scope\\\", scope=\\\"files:write\\\")");
        assertThat(told(401, "Basic realm=\"a\u0085b\"", "Negotiate"))
                .contains("(status 401, Basic realm=\\\"a b\\\", Negotiate)");
        assertThat(told(401)).contains("(status 401)");
    }
}

package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that are no JSON, or no JSON-RPC, or too much: refused by name, and the session unharmed. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class BadBodyTest {
    private static final int PARSE_ERROR = -32700;
    private static final int INVALID_REQUEST = -32600;
    private static final int LIMIT = 64 << 10;

    private static final SharedServer server = new SharedServer();

    BadBodyTest(ContainerKind kind) {}

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        server.start(TestServer.in(kind).options(options -> options.maxRequestSize(LIMIT)));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    @AfterEach
    void theSessionIsUnharmed() {
        server.session().assertAlive();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            {"jsonrpc":"2.0","id":1,"method":"ping"        | ends in the middle of its JSON
            {"jsonrpc":"2.0","id":1,"method":"pi           | ends in the middle of its JSON
            {"jsonrpc":"2.0","id":1,"method":ping}         | is not JSON near byte
            {'jsonrpc':'2.0','id':1,'method':'ping'}       | is not JSON near byte
            hello                                          | is not JSON near byte
            <xml/>                                         | is not JSON near byte
            {"jsonrpc":"2.0","id":1,"method":"ping"}}      | goes on after its JSON
            {"jsonrpc":"2.0","id":1,"method":"ping"}{}     | goes on after its JSON
            `   `                                          | is empty
            ``                                             | is empty
            """)
    void aBodyThatIsNotJsonIsRefused(String body, String words) {
        Refusal.of(server.port(), server.session().post(body)).assertIs(400, PARSE_ERROR, words);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            1                                                              | must be an object
            "ping"                                                         | must be an object
            null                                                           | must be an object
            []                                                             | at least one message
            [1]                                                            | must be an object
            {}                                                             | jsonrpc
            {"id":1,"method":"ping"}                                       | jsonrpc
            {"jsonrpc":"1.0","id":1,"method":"ping"}                       | jsonrpc
            {"jsonrpc":2.0,"id":1,"method":"ping"}                         | jsonrpc
            {"jsonrpc":"2.0","id":1}                                       | method
            {"jsonrpc":"2.0","id":1,"method":7}                            | method
            {"jsonrpc":"2.0","id":1,"method":""}                           | method
            {"jsonrpc":"2.0","id":1,"method":["ping"]}                     | method
            {"jsonrpc":"2.0","id":{},"method":"ping"}                      | id
            {"jsonrpc":"2.0","id":true,"method":"ping"}                    | id
            {"jsonrpc":"2.0","id":1.5,"method":"ping"}                     | id
            {"jsonrpc":"2.0","id":null,"method":"ping"}                    | id
            {"jsonrpc":"2.0","id":1,"method":"ping","params":[]}           | params
            {"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}          | params
            {"jsonrpc":"2.0","id":1,"method":"ping","params":3}            | params
            {"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"} | method
            {"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}                | id
            {"jsonrpc":"2.0","id":1,"result":{},"error":{}}                | result
            {"jsonrpc":"2.0","id":1,"method":"ping","result":{}}           | result
            {"jsonrpc":"2.0","id":1,"error":"no"}                          | error
            """)
    void aBodyThatIsNotJsonRpcIsRefused(String body, String words) {
        Refusal.of(server.port(), server.session().post(body)).assertIs(400, INVALID_REQUEST, words);
    }

    @Test
    void theIdOfARequestThatIsWrongIsEchoed() {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"method\":\"ping\",\"params\":[]}";

        Refusal refusal = Refusal.of(server.port(), server.session().post(body));

        assertThat(refusal.json().at("/id").asString()).isEqualTo("mine");
    }

    @Test
    void aBodyInAnotherEncodingIsRefused() {
        byte[] latin = Json.echo("1", "caf\u00e9").getBytes(ISO_8859_1);
        byte[] wide = Json.echo("1", "hello").getBytes(UTF_16);

        Refusal.of(server.port(), server.session().post(latin)).assertIs(400, PARSE_ERROR, "is not UTF-8 at byte");
        Refusal.of(server.port(), server.session().post(wide)).assertIs(400, PARSE_ERROR, "is not UTF-8 at byte");
    }

    @ParameterizedTest
    @ValueSource(strings = {"[", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":"})
    void aDeeplyNestedBodyIsRefused(String start) {
        String body = start + "[".repeat(LIMIT / 2);

        Refusal.of(server.port(), server.session().post(body)).assertIs(400, PARSE_ERROR, "nested deeper than");
    }

    @Test
    void aBodyThatAnnouncesTooMuchIsRefusedBeforeItComes() {
        RawRequest request = server.session().post("{").with("Content-Length", Integer.toString(LIMIT + 1));

        Refusal.of(server.port(), request).assertIs(413, INVALID_REQUEST, "exceeds " + LIMIT + " bytes");
    }

    @Test
    void aBodyThatSendsTooMuchIsRefused() {
        RawRequest request = server.session().post(Json.echo("1", "x".repeat(LIMIT)));

        Refusal.of(server.port(), request).assertIs(413, INVALID_REQUEST, "exceeds " + LIMIT + " bytes");
    }

    @Test
    void aChunkedBodyThatSendsTooMuchIsRefused() {
        RawRequest request = server.session().post(new byte[0]).with("Transfer-Encoding", "chunked");
        String chunk = Integer.toHexString(LIMIT + 1) + "\r\n" + " ".repeat(LIMIT + 1) + "\r\n";
        try (RawConnection connection = server.session().send(request).write(chunk.getBytes(UTF_8))) {
            Refusal.of(connection).assertIs(413, INVALID_REQUEST, "exceeds " + LIMIT + " bytes");
        }
    }

    /** It is more than the kernel keeps for a server that does not read. */
    @Test
    void aClientThatSendsFarTooMuchBeforeItReadsIsToldSo() throws Exception {
        byte[] chunk = ("100000\r\n" + " ".repeat(1 << 20) + "\r\n").getBytes(UTF_8);
        RawRequest request = server.session().post(new byte[0]).with("Transfer-Encoding", "chunked");
        Linger.within(() -> {
            try (RawConnection connection = server.session().send(request)) {
                for (int i = 0; i < 8; i++) {
                    connection.write(chunk);
                }
                connection.write("0\r\n\r\n".getBytes(UTF_8));

                Refusal.of(connection).assertIs(413, INVALID_REQUEST, "exceeds " + LIMIT + " bytes");
            }
        });
    }

    @Test
    void aChunkedBodyIsTaken() {
        RawRequest request = server.session().post(new byte[0]).with("Transfer-Encoding", "chunked");
        String json = Json.echo("1", "hello");
        String chunks = "3\r\n" + json.substring(0, 3) + "\r\n" + Integer.toHexString(json.length() - 3) + "\r\n"
                + json.substring(3) + "\r\n0\r\n\r\n";
        try (RawConnection connection = server.session().send(request).write(chunks.getBytes(UTF_8))) {
            assertThat(connection.head().status()).isEqualTo(200);
            assertThat(connection.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("hello");
        }
    }

    @Test
    void aBodyThatEndsBeforeItsLengthIsRefused() {
        RawRequest request = server.session().post(Json.echo("1", "hello")).with("Content-Length", "1000");
        try (RawConnection connection = server.session().send(request).shutdownOutput()) {
            Refusal.of(connection).assertIs(400, INVALID_REQUEST, "broke off before its end");
        }
    }
}

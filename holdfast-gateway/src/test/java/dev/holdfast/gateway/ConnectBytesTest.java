package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The bytes of messages that no library would write so, on both sides of {@code holdfast connect}. It changes nothing but the ids of
 * what belongs to a session that took a lost one's place, and line ends within a message of the server, which would end the line.
 */
@Timeout(60)
class ConnectBytesTest {
    /** Unknown members, odd numbers, odd escapes, names twice, any order, white space. */
    private static final String ODD =
            "{ \"z\":1e2,\t\"y\" :1.0, \"x\":[-0,1E+400,0.1000 , 123456789012345678901234567890],\"x\":{ },"
                    + "\"\\u0077\":\"\\/ \\u00e9 é \\ud83d\\ude00 😀 \\u0000 \u2028 \\n\",\"\": [ ] }";

    private static final String CALL =
            "{\"params\" :{\"arguments\":" + ODD + " ,\"name\":\"\\u0074\"} ,\"id\" : \"\\u0061\\/b\" ,"
                    + "\"unknown\":" + ODD + ",\"method\" : \"tools\\/call\",\"jsonrpc\" :\"2.0\" }";
    private static final String NUMBERED =
            "{\"id\" :7, \"method\" : \"tools/call\", \"jsonrpc\":\"2.0\" , \"params\":" + ODD + "}";
    private static final String NOTIFICATION =
            "{ \"params\": " + ODD + ", \"method\" : \"notifications\\/odd\",\"jsonrpc\":\"2.0\"}";
    private static final String PROGRESS = "{\"jsonrpc\":\"2.0\",  \"extra\":" + ODD
            + ",\"method\" : \"notifications/progress\",\"params\":" + ODD + "}";
    private static final String QUESTION =
            "{\"method\" : \"elicitation\\/create\" ,\"params\":" + ODD + ",\"id\": \"\\u0071\",\"jsonrpc\":\"2.0\"}";
    private static final String ANSWER =
            "{\"id\" : \"q\",  \"result\" :" + ODD + ",\"jsonrpc\" :\"2.0\",\"more\":" + ODD + "}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final ScriptedUpstream server = new ScriptedUpstream();
    private final BlockingQueue<OutputStream> listening = new LinkedBlockingQueue<>();
    /** What the server answers in a JSON body, by what it was sent; anything else it accepts. */
    private final Map<String, String> answers = new ConcurrentHashMap<>();

    @SuppressWarnings("NullAway.Init")
    private BridgeProcess bridge;

    @BeforeEach
    void connect() throws IOException {
        server.on("GET", asked -> listening.add(asked.stream()));
        server.on("POST", asked -> {
            String answer = answers.get(asked.body());
            if (answer == null) {
                asked.status(202);
            } else {
                asked.json(answer);
            }
        });
        bridge = BridgeProcess.start(folder, server.url().toString());
        bridge.begin();
    }

    @AfterEach
    void close() {
        bridge.close();
        server.close();
    }

    /** What came of these odd messages, in order. */
    private List<String> received() {
        return server.asked("POST").stream().map(ScriptedUpstream.Asked::body).toList();
    }

    private void receives(String... messages) {
        Wait.until("the messages are there", () -> received().size() >= messages.length);
        assertThat(received()).containsExactly(messages);
    }

    private static void send(OutputStream stream, String message) throws IOException {
        String data = message.replace("\n", "\ndata: ");
        stream.write(("event: message\ndata: " + data + "\n\n").getBytes(UTF_8));
        stream.flush();
    }

    @Test
    void requestsAndTheirResponsesPassAsTheyAre() throws IOException {
        String result = "{\"result\" :" + ODD + " , \"id\" :\"a\\u002fb\",\"jsonrpc\":\"2.0\",\"other\" :" + ODD + "}";
        answers.put(CALL, result);

        bridge.say(CALL);

        assertThat(bridge.hear()).isEqualTo(result);
        receives(CALL);
    }

    @Test
    void errorsAndWhatComesBeforeThemOnTheirStreamPassAsTheyAre() throws IOException {
        String error = "{\"error\" :{\"message\":\"\\u0041\",\"data\":" + ODD
                + ",\"code\" : -32000},\"id\":7 ,\"jsonrpc\":\"2.0\"}";
        server.on("POST", asked -> {
            try (OutputStream stream = asked.stream()) {
                send(stream, PROGRESS);
                send(stream, error);
            }
        });

        bridge.say(NUMBERED);

        assertThat(bridge.hear()).isEqualTo(PROGRESS);
        assertThat(bridge.hear()).isEqualTo(error);
        receives(NUMBERED);
    }

    @Test
    void notificationsQuestionsAndAnswersPassAsTheyAre() throws IOException {
        String cancelled = "{\"params\" :{\"reason\":" + ODD
                + ",\"requestId\" :\"\\u0071\"},\"method\" : \"notifications/cancelled\"," + "\"jsonrpc\":\"2.0\"}";
        OutputStream stream = Wait.next(listening);

        bridge.say(NOTIFICATION);
        receives(NOTIFICATION);
        for (String message : List.of(NOTIFICATION, QUESTION, cancelled, QUESTION)) {
            send(stream, message);
            assertThat(bridge.hear()).isEqualTo(message);
        }
        bridge.say(ANSWER);

        receives(NOTIFICATION, ANSWER);
    }

    @Test
    void whatStandsAroundAMessageIsNoPartOfIt() throws IOException {
        answers.put(NUMBERED, "\r\n\t {\"id\":7,\"result\":" + ODD + ",\"jsonrpc\":\"2.0\"} \n");

        bridge.say(" \t" + NUMBERED + "  \r");
        assertThat(bridge.hear()).isEqualTo("{\"id\":7,\"result\":" + ODD + ",\"jsonrpc\":\"2.0\"}");
        bridge.say("[ " + NOTIFICATION + " ,\t" + ANSWER + "]");

        Wait.until("the batch is there", () -> received().size() == 3);
        assertThat(received()).startsWith(NUMBERED).containsExactlyInAnyOrder(NUMBERED, NOTIFICATION, ANSWER);
    }

    @Test
    void lineEndsWithinAMessageOfTheServerBecomeBlanks() throws IOException {
        answers.put(NUMBERED, "{\r\n\"id\":7,\n\n\"result\" : " + ODD + ",\"jsonrpc\":\"2.0\"\n}");

        bridge.say(NUMBERED);
        assertThat(bridge.hear()).isEqualTo("{  \"id\":7,  \"result\" : " + ODD + ",\"jsonrpc\":\"2.0\" }");
        send(Wait.next(listening), NOTIFICATION.replace("{ \"params\"", "{\n\"params\""));

        assertThat(bridge.hear()).isEqualTo(NOTIFICATION);
    }

    @Test
    void onlyIdsChangeInASessionThatTookTheLostOnesPlace() throws IOException {
        String result = "{\"id\":7,\"result\":" + ODD + ",\"jsonrpc\":\"2.0\"}";
        server.on("POST", asked -> {
            if (asked.header("Mcp-Session-Id").equals("session-1")) {
                asked.status(404);
            } else if (asked.body().equals(NUMBERED)) {
                asked.json(result);
            } else {
                asked.status(202);
            }
        });
        try (OutputStream lost = Wait.next(listening)) {
            bridge.say(NUMBERED);
            assertThat(bridge.hear()).isEqualTo(result);
        }
        assertThat(server.asked("initialize").stream().map(ScriptedUpstream.Asked::body))
                .containsExactly(
                        BridgeProcess.INITIALIZE,
                        BridgeProcess.INITIALIZE.replace("\"id\":0", "\"id\":\"holdfast-1\""));
        assertThat(server.asked("notifications/initialized").stream().map(ScriptedUpstream.Asked::body))
                .containsExactly(BridgeProcess.INITIALIZED, BridgeProcess.INITIALIZED);

        String question = QUESTION.replace("\"\\u0071\"", "3");
        send(Wait.next(listening), question);
        assertThat(bridge.hear()).isEqualTo(question.replace("\"id\": 3", "\"id\": \"holdfast-1:3\""));
        bridge.say(ANSWER.replace("\"q\"", "\"holdfast-1:3\""));

        receives(NUMBERED, NUMBERED, ANSWER.replace("\"q\"", "3"));
    }
}

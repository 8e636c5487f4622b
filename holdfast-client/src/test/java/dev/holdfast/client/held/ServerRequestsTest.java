package dev.holdfast.client.held;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import org.junit.jupiter.api.Test;

class ServerRequestsTest {
    private final ServerRequests questions = new ServerRequests();

    private static Envelope envelope(String json) {
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json.getBytes(UTF_8))).message();
    }

    private Envelope asked(int session) {
        return questions.toApplication(envelope("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}"), session);
    }

    private static Envelope answerTo(Envelope question) {
        return envelope(
                "{\"jsonrpc\":\"2.0\",\"id\":" + question.id().orElseThrow().token() + ",\"result\":{}}");
    }

    @Test
    void onlyQuestionsOfEarlierSessionsAreGivenUp() {
        Envelope old = asked(0);
        Envelope live = asked(1);

        assertThat(questions.giveUpBefore(1))
                .singleElement()
                .satisfies(cancellation ->
                        assertThat(cancellation.cancelledRequest()).isEqualTo(old.id()));
        assertThat(questions.toServer(answerTo(live), 1))
                .hasValueSatisfying(
                        answer -> assertThat(answer.id().orElseThrow().token()).isEqualTo("0"));
        assertThat(questions.toServer(answerTo(old), 1)).isEmpty();
    }

    @Test
    void questionThatIsNestedDeeplyGetsAnIdOfItsOwnToo() {
        String deep = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"elicitation/create\",\"params\":{\"x\":"
                + "[".repeat(900) + "]".repeat(900) + "}}";
        Envelope question = ((EnvelopeReader.Single) EnvelopeReader.ofServer().read(deep.getBytes(UTF_8))).message();

        Envelope known = questions.toApplication(question, 1);

        assertThat(known.id()).isNotEqualTo(question.id());
        assertThat(questions.toServer(answerTo(known), 1)).isPresent();
    }

    @Test
    void cancellationInTheFirstSessionPassesAsItIs() {
        String spelled =
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"\\u0061sk\"}}";

        assertThat(questions.toApplication(envelope(spelled), 0).bytes()).isEqualTo(spelled.getBytes(UTF_8));
    }
}

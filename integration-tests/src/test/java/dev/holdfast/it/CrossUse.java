package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A victim with a session on each face, a call that waits for an answer, and events; and a stranger and a session of the same
 * caller that try to use them.
 */
final class CrossUse implements AutoCloseable {
    private static final String LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    private static final String HEX = "0123456789abcdef";
    private static final int NOT_FOUND = 404;

    /** What of another's is used. */
    enum Way {
        CALL(NOT_FOUND),
        NOTIFICATION(NOT_FOUND),
        LISTEN(NOT_FOUND),
        DELETE(NOT_FOUND),
        RESUME_FOREIGN_SESSION(NOT_FOUND),
        /** An event of another session, in one's own. */
        RESUME(400),
        /** An answer to the question of another session, in one's own: taken, and dropped. */
        ANSWER(202),
        ANSWER_IN_FOREIGN_SESSION(NOT_FOUND),
        ENDPOINT(NOT_FOUND),
        ANSWER_AT_ENDPOINT(NOT_FOUND),
        /** A session of one face on the other. */
        OTHER_FACE(NOT_FOUND);

        private final int answer;

        Way(int answer) {
            this.answer = answer;
        }

        Set<Integer> answers() {
            return Set.of(answer);
        }
    }

    /** The use of something of another's, and of something of the same form that nobody has. */
    record Pair(RawRequest foreign, RawRequest unknown) {}

    private final String victim;
    private final String other;
    private final RawSession victims;
    private final RawSession strangers;
    private final RawSession siblings;
    private final RawConnection call;
    private final Frame question;
    private final RawSseSession victimsSse;
    private final KeptConnection wire;

    CrossUse(int port, String victim, String other) {
        this.wire = new KeptConnection(port);
        this.victim = victim;
        this.other = other;
        this.victims = RawSession.open(port, Map.of(UserFilter.USER, victim));
        this.siblings = RawSession.open(port, Map.of(UserFilter.USER, victim));
        this.strangers = RawSession.open(port, Map.of(UserFilter.USER, other));
        this.call = victims.stream(as(victim, victims.post(Json.call("\"asks\"", "question"))));
        this.question = call.message();
        this.victimsSse = RawSseSession.connect(port, RawSseSession.get().with(UserFilter.USER, victim));
    }

    /** One way, done by the stranger, or where it makes sense by another session of the victim's. */
    Pair pair(Way way, SplittableRandom random) {
        boolean sibling = random.nextBoolean();
        RawSession own = sibling ? siblings : strangers;
        String user = sibling ? victim : other;
        String session = unknown(victims.id(), random);
        String sse = unknown(victimsSse.id(), random);
        String event = question.id().orElseThrow();
        String noEvent = "9" + event;
        String answer = Json.answer(question.json().at("/id").toString(), "{\"action\":\"accept\",\"content\":{}}");
        String noAnswer =
                Json.answer("\"" + unknown("0a1b2c3d-9", random) + "\"", "{\"action\":\"accept\",\"content\":{}}");
        String id = Integer.toString(random.nextInt(1_000_000));
        return switch (way) {
            case CALL -> foreign(RawRequest.post(Json.echo(id, "x")), session);
            case NOTIFICATION ->
                foreign(
                        RawRequest.post(Json.notification("notifications/cancelled", "{\"requestId\":\"asks\"}")),
                        session);
            case LISTEN -> foreign(RawRequest.get(), session);
            case DELETE -> foreign(RawRequest.of("DELETE"), session);
            case RESUME_FOREIGN_SESSION -> foreign(RawRequest.get().with("Last-Event-ID", event), session);
            case RESUME ->
                new Pair(
                        own.get(event).with(UserFilter.USER, user),
                        own.get(noEvent).with(UserFilter.USER, user));
            case ANSWER ->
                new Pair(
                        own.post(answer).with(UserFilter.USER, user),
                        own.post(noAnswer).with(UserFilter.USER, user));
            case ANSWER_IN_FOREIGN_SESSION -> foreign(RawRequest.post(answer), session);
            case ENDPOINT -> endpoint(Json.echo(id, "x"), sse);
            case ANSWER_AT_ENDPOINT -> endpoint(answer, sse);
            case OTHER_FACE ->
                new Pair(
                        as(victim, RawRequest.post(Json.echo(id, "x")).with("Mcp-Session-Id", victimsSse.id())),
                        as(victim, RawRequest.post(Json.echo(id, "x")).with("Mcp-Session-Id", sse)));
        };
    }

    private Pair foreign(RawRequest request, String unknown) {
        return new Pair(
                as(other, request.with("Mcp-Session-Id", victims.id())),
                as(other, request.with("Mcp-Session-Id", unknown)));
    }

    private Pair endpoint(String json, String unknown) {
        RawRequest post = RawRequest.post(json);
        return new Pair(
                as(other, post.to("/message?sessionId=" + victimsSse.id())),
                as(other, post.to("/message?sessionId=" + unknown)));
    }

    private static RawRequest as(String user, RawRequest request) {
        return request.with(UserFilter.USER, user);
    }

    /** An id of the same form: each character by another of its kind. */
    private static String unknown(String id, SplittableRandom random) {
        boolean hex = id.chars().allMatch(c -> c == '-' || HEX.indexOf(c) >= 0);
        String letters = hex ? HEX : LETTERS;
        StringBuilder fresh = new StringBuilder();
        for (int i = 0; i < id.length(); i++) {
            fresh.append(hex && id.charAt(i) == '-' ? '-' : letters.charAt(random.nextInt(letters.length())));
        }
        return fresh.toString();
    }

    /** Sends a request on a connection that is kept as long as the server keeps it. */
    KeptConnection.Outcome ask(RawRequest request) throws IOException {
        return wire.ask(request);
    }

    /** The victim's question is still open, and is answered by nobody but the victim; and both sessions live. */
    void assertVictimUnharmed() throws IOException {
        String answer = Json.answer(question.json().at("/id").toString(), "{\"action\":\"decline\"}");
        assertThat(victims.status(as(victim, victims.post(answer)))).isEqualTo(202);
        List<Frame> rest = call.messages();
        assertThat(rest).hasSize(1);
        assertThat(rest.get(0).json().at("/result/content/0/text").asString()).isEqualTo("answered DECLINE");
        assertThat(victimsSse.status(as(victim, victimsSse.post(Json.initialize(RawSseSession.REVISION)))))
                .isEqualTo(202);
        assertThat(victimsSse.receive().at("/id").asInt()).isZero();
    }

    @Override
    public void close() throws IOException {
        wire.close();
        call.close();
        victimsSse.close();
    }
}

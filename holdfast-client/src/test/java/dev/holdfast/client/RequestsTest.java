package dev.holdfast.client;

import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RequestsTest {
    private static HttpRequest sent(UnaryOperator<HttpRequest.Builder> customizer) {
        return Eventually.now(Requests.PLAIN
                .withCustomizer((request, method, uri, body, context) ->
                        CompletableFuture.completedFuture(customizer.apply(request)))
                .make(
                        "GET",
                        URI.create("http://localhost/mcp"),
                        Optional.empty(),
                        NO_CONTEXT,
                        request -> request.header("Accept", "text/event-stream")));
    }

    @Test
    void aRequestWithoutANameGetsOneThatIsNotThatOfTheJdk() {
        HttpRequest sent = sent(request -> request);

        assertThat(sent.headers().allValues("User-Agent"))
                .singleElement()
                .asString()
                .startsWith("Holdfast");
        assertThat(sent.headers().allValues("Accept")).containsExactly("text/event-stream");
    }

    @Test
    void theNameOfAnApplicationStays() {
        assertThat(List.of(
                        sent(request -> request.header("user-agent", "shop/1")),
                        sent(request -> request.setHeader("user-agent", "shop/1"))))
                .allSatisfy(sent -> {
                    assertThat(sent.headers().allValues("User-Agent")).containsExactly("shop/1");
                    assertThat(sent.headers().allValues("Accept")).containsExactly("text/event-stream");
                });
    }

    @Test
    void theNameInATemplateStays() {
        Requests named = new Requests(
                HttpRequest.newBuilder().header("user-agent", "shop/1"),
                Requests.Customizer.NONE,
                Requests.AuthorizationHandler.NONE,
                Optional.empty());

        HttpRequest sent = Eventually.now(named.make(
                "GET", URI.create("http://localhost/mcp"), Optional.empty(), NO_CONTEXT, UnaryOperator.identity()));

        assertThat(sent.headers().allValues("User-Agent")).containsExactly("shop/1");
    }

    @Test
    void everyRequestHasIt() throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                    .onGet((request, reply) -> reply.status(405));
            ServerSession session = new Recorder().open(remote(server.uri()));
            server.awaitRequests(2);
            session.close();
            server.awaitRequests(3);

            assertThat(server.requests)
                    .allMatch(request -> request.header("user-agent").startsWith("Holdfast"));
        }
    }
}

package dev.holdfast.client;

import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpRequest;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class UserAgentTest {
    private static HttpRequest.Builder request() {
        return HttpRequest.newBuilder(URI.create("http://localhost/mcp")).header("Accept", "text/event-stream");
    }

    @Test
    void aRequestWithoutANameGetsOneThatIsNotThatOfTheJdk() {
        HttpRequest sent = UserAgent.behindOthers(UserAgent.addTo(request()).build());

        assertThat(sent.headers().allValues("User-Agent"))
                .singleElement()
                .asString()
                .startsWith("Holdfast");
        assertThat(sent.headers().allValues("Accept")).containsExactly("text/event-stream");
    }

    @Test
    void theNameOfAnApplicationStays() {
        HttpRequest before =
                UserAgent.addTo(request().header("user-agent", "shop/1")).build();
        HttpRequest added =
                UserAgent.addTo(request()).header("user-agent", "shop/1").build();
        HttpRequest set =
                UserAgent.addTo(request()).setHeader("user-agent", "shop/1").build();

        assertThat(List.of(before, added, set)).allSatisfy(request -> {
            HttpRequest sent = UserAgent.behindOthers(request);
            assertThat(sent.headers().allValues("User-Agent")).containsExactly("shop/1");
            assertThat(sent.headers().allValues("Accept")).containsExactly("text/event-stream");
        });
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
